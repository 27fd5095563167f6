// Rules of programs that replicas can break, each broken alone.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

// Nothing is wrong here. Rank 1 has samples 2 and 3, of which rank 2 takes one and rank 3 the other.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L1: a part of the input of rank 2 is not received.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0]
    // expected-error @below {{send 0F0 to rank 2 at position 1 of rank 1 has no other end: channel 1>2 has 1 send and 0 receives [L1]}}
    pipe.send activation @s0[0] to @s1:0
    pipe.send activation @s0[0] to @s1:1 pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0]
    pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  // expected-note @below {{the conflicting operation, on rank 2, is here}}
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0] to @s0:0
    pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2
    pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L1: it is neither sent nor received.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  // expected-note @below {{the conflicting operation, on rank 1, is here}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:1 pipe.recv gradient @s1:0[0]
    pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1 pipe.issue @c2
    pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0]
    // expected-error @below {{1F0 at position 1 of rank 2 needs 0F0, which rank 1 does not send [L1]}}
    pipe.forward @s1[0]
    pipe.backward @s1[0] pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0
    pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L1: two parts that both name one replica as their source.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
  pipe.rank 2 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
  pipe.rank 3 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.forward @s0[1]
    // expected-error @below {{message 1 of channel 0>2 is send 0F1 to rank 2 at position 5 of rank 0, but recv 0F0 from rank 0 at position 1 of rank 2 [L1]}}
    pipe.send activation @s0[1]
    pipe.recv gradient @s1[1] pipe.backward @s0[1]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.forward @s0[1]
    pipe.send activation @s0[1] to @s1:0 pipe.send activation @s0[1] to @s1:1 pipe.recv gradient @s1:0[1]
    pipe.recv gradient @s1:1[1] pipe.backward @s0[1] pipe.issue @c1 pipe.await @c1 pipe.issue @c2
    pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0]
    // expected-note @below {{the conflicting operation, on rank 2, is here}}
    pipe.recv activation @s0:0[0]
    pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.recv activation @s0:0[1]
    pipe.recv activation @s0:1[1] pipe.forward @s1[1] pipe.backward @s1[1] pipe.send gradient @s1[1] to @s0:0
    pipe.send gradient @s1[1] to @s0:1 pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2
    pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.recv activation @s0[1] pipe.forward @s1[1] pipe.backward @s1[1] pipe.send gradient @s1[1]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L2: the second part is received after the task that reads it.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0]
    // expected-error @below {{rank 2 waits for itself to post the recv of 0F0, at 1F0, which comes before it [L2]}}
    pipe.forward @s1[0]
    // expected-note @below {{the conflicting operation, on rank 2, is here}}
    pipe.recv activation @s0:1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L2: rank 2 sends a gradient only after a sum that rank 1 cannot begin without it.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1
    // expected-error @below {{rank 0 waits for rank 1 to issue @c1, at await @c1 -> rank 1 waits for rank 2 to send 1I0, at 0B0 -> rank 2 waits for rank 0 to issue @c2, at await @c2 [L2]}}
    pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0]
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.issue @c1
    pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2
    pipe.send gradient @s1[0] to @s0:1 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// After a sum of its own stage it may.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.issue @c0 pipe.await @c0 pipe.send gradient @s1[0] to @s0:1
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L5: the sum over the replicas of a stage is missing on one of its ranks.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  // expected-error @below {{issue @c1 is missing on rank 1 [L5]}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c2 pipe.await @c2
    pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L5: the norm is computed before it.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1
    // expected-error @below {{issue @c2 at position 7 of rank 1 comes before await @c1 at position 8 of rank 1, whose result it reads [L5]}}
    pipe.issue @c2
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.await @c1
    pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L5: it begins before the gradients are complete.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0]
    // expected-error @below {{issue @c0 at position 3 of rank 2 comes before 1B0 at position 4 of rank 2, whose gradient it reads [L5]}}
    pipe.issue @c0
    // expected-note @below {{the conflicting operation, on rank 2, is here}}
    pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L5: the program does not have it.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
// expected-error @below {{the program has no replica_gradients over stage 1, which training its plan needs [L5]}}
pipe.program @main of @mine pipeline {
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0] pipe.backward @s0[0] pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c2 pipe.await @c2
    pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// L5: every replica steps.
pipe.cluster @lab channels<rendezvous> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 4, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
  pipe.rank 3 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.send activation @s0[0] pipe.recv gradient @s1[0] pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1 pipe.issue @c2 pipe.await @c2 pipe.step @s0
  }
  // expected-error @below {{step of stage 0 is missing on rank 1 [L5]}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.send activation @s0[0] to @s1:0 pipe.send activation @s0[0] to @s1:1
    pipe.recv gradient @s1:0[0] pipe.recv gradient @s1:1[0]
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.backward @s0[0]
    pipe.issue @c1 pipe.await @c1
    pipe.issue @c2 pipe.await @c2
  }
  pipe.rank 2 {
    pipe.recv activation @s0:0[0] pipe.recv activation @s0:1[0] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.send gradient @s1[0] to @s0:0 pipe.send gradient @s1[0] to @s0:1 pipe.issue @c0 pipe.await @c0
    pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
  pipe.rank 3 {
    pipe.recv activation @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.send gradient @s1[0]
    pipe.issue @c0 pipe.await @c0 pipe.issue @c2 pipe.await @c2 pipe.step @s1
  }
}

// -----

// Nothing is wrong here: each rank has its own replica of the stage in its arena.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
}
pipe.program @main of @mine pipeline arena [704, 704] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.collective @c1 gradient_norm [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p10 on 0 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.pool @p11 on 1 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place saved_for_weight_grad @s0 in @p10 [0, 1]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.place saved_for_weight_grad @s0 in @p11 [0, 1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
}

// -----

// L3: a replica's buffer lies where it still has another micro-batch.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
}
pipe.program @main of @mine pipeline arena [704, 704] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.collective @c1 gradient_norm [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p10 on 0 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.pool @p11 on 1 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place saved_for_weight_grad @s0 in @p10 [0, 1]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.place saved_for_weight_grad @s0 in @p11 [0]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
  pipe.rank 1 {
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.forward @s0[0]
    // expected-error @below {{0F1 at position 1 of rank 1 takes slot 0 of pool @p11 for saved_for_weight_grad of stage 0, micro-batch 1, where saved_for_weight_grad of stage 0, micro-batch 0 still lies, taken at position 0 [L3]}}
    pipe.forward @s0[1]
    pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
}

// -----

// L3: it lies where another replica's lies.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
}
// expected-error @below {{weights of stage 0 lies in slot 0 of pool @p0, where weights of stage 0 lies [L3]}}
pipe.program @main of @mine pipeline arena [704, 704] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.collective @c1 gradient_norm [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p10 on 0 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.pool @p11 on 1 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place saved_for_weight_grad @s0 in @p10 [0, 1]
  pipe.place weights @s0:1 in @p0 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.place saved_for_weight_grad @s0 in @p11 [0, 1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
}

// -----

// L4: the memory for what a sum receives and adds is a byte too small.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
}
pipe.program @main of @mine pipeline arena [704, 704] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.collective @c1 gradient_norm [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 448, slot_bytes = 127, slots = 1>
  pipe.pool @p10 on 0 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.pool @p11 on 1 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place saved_for_weight_grad @s0 in @p10 [0, 1]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.place saved_for_weight_grad @s0 in @p11 [0, 1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
  // expected-error @below {{rank 1 has 127 bytes of staging; what its collectives receive and add takes 128 [L4]}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
}

// -----

// L4: there is none.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] }
}
pipe.program @main of @mine pipeline arena [704, 704] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.collective @c1 gradient_norm [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p10 on 0 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.pool @p11 on 1 <offset = 576, slot_bytes = 64, slots = 2>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place saved_for_weight_grad @s0 in @p10 [0, 1]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.place saved_for_weight_grad @s0 in @p11 [0, 1]
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
  // expected-error @below {{rank 1 has 0 bytes of staging; what its collectives receive and add takes 128 [L4]}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1] pipe.issue @c0
    pipe.await @c0 pipe.issue @c1 pipe.await @c1 pipe.step @s0
  }
}
