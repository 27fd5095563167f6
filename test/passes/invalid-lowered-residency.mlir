// L6: a program that cannot run with as few sends, receives and collectives in flight as its target allows. All parties are
// shown.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) target<cuda, fp32, resident = 1> {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.rank 0 {
    // expected-note @below {{recv 1I0 from rank 1 of rank 0, for which send 0F0 to rank 1 of rank 0 waits, is here}}
    pipe.recv gradient @s1[0]
    pipe.forward @s0[0]
    // expected-error @below {{send 0F0 to rank 1 at position 2 of rank 0 waits for the end of recv 1I0 from rank 1 at position 0 of rank 0, since 1 launch of a rank may be in flight at once, and so they wait for each other: on rank 0, recv 1I0 from rank 1 waits for send 1I0 to rank 0 on rank 1 -> on rank 1, 1F0 waits for recv 0F0 from rank 0 on rank 1 -> on rank 1, recv 0F0 from rank 0 waits for send 0F0 to rank 1 on rank 0 -> on rank 0, send 0F0 to rank 1 waits for recv 1I0 from rank 1 on rank 0; issue recv 1I0 from rank 1 later, or state resident = 2 in the plan's target, with which the program runs to its end [L6]}}
    // expected-note @below {{send 0F0 to rank 1 of rank 0, for which recv 0F0 from rank 0 of rank 1 waits, is here}}
    pipe.send activation @s0[0]
    pipe.backward @s0[0]
  }
  pipe.rank 1 {
    // expected-note @below {{recv 0F0 from rank 0 of rank 1, for which 1F0 of rank 1 waits, is here}}
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    // expected-note @below {{send 1I0 to rank 0 of rank 1, for which recv 1I0 from rank 1 of rank 0 waits, is here}}
    pipe.send gradient @s1[0]
  }
}

// -----

// The same with room for both.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @two of @timed on @lab microbatches(1) target<cuda, fp32, resident = 2> {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @two {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.rank 0 {
    pipe.recv gradient @s1[0]
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.backward @s0[0]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
  }
}

// -----

// Collectives of sharded state count, too.
pipe.cluster @lab link<latency_ns = 10, bytes_per_us = 1000> { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, activation_bytes = 128, output_bytes = 128, weight_bytes = 256>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(2) target<cuda, fp32, resident = 1> {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on 2
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.unshard @s0[0] pipe.forward @s0[0] pipe.backward @s0[0] pipe.reshard @s0[0] pipe.reduce_grad @s0[0] }
  pipe.rank 1 { pipe.unshard @s0[0] pipe.forward @s0[0] pipe.backward @s0[0] pipe.reshard @s0[0] pipe.reduce_grad @s0[0] }
  pipe.rank 2 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
pipe.program @main of @mine pipeline {
  pipe.collective @c0 gather_weights [@s0] ns = 138
  pipe.collective @c1 scatter_gradients [@s0] ns = 138
  pipe.collective @c2 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    // expected-note @below {{recv 1I0 from rank 2 of rank 0, for which unshard 0 of stage 0 of rank 0 waits, is here}}
    pipe.recv gradient @s1[0]
    // expected-error @below {{unshard 0 of stage 0 at position 1 of rank 0 waits for the end of recv 1I0 from rank 2 at position 0 of rank 0, since 1 launch of a rank may be in flight at once, and so they wait for each other: on rank 0, await @c0 waits for unshard 0 of stage 0 on rank 0 -> on rank 0, unshard 0 of stage 0 waits for recv 1I0 from rank 2 on rank 0 -> on rank 0, recv 1I0 from rank 2 waits for send 1I0 to rank 0 on rank 2 -> on rank 2, 1F0 waits for recv 0F0 from rank 0 on rank 2 -> on rank 2, recv 0F0 from rank 0 waits for send 0F0 to rank 2 on rank 0; issue recv 1I0 from rank 2 later, or state resident = 3 in the plan's target, with which the program runs to its end [L6]}}
    // expected-note @below {{unshard 0 of stage 0 of rank 0, for which await @c0 of rank 0 waits, is here}}
    pipe.unshard @s0[0]
    pipe.await @c0
    pipe.forward @s0[0]
    // expected-note @below {{send 0F0 to rank 2 of rank 0, for which recv 0F0 from rank 0 of rank 2 waits, is here}}
    pipe.send activation @s0[0]
    pipe.backward @s0[0]
    pipe.reshard @s0[0]
    pipe.reduce_grad @s0[0]
    pipe.await @c1
    pipe.issue @c2
    pipe.await @c2
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.await @c0
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.reshard @s0[0]
    pipe.reduce_grad @s0[0]
    pipe.await @c1
    pipe.issue @c2
    pipe.await @c2
    pipe.step @s0
  }
  pipe.rank 2 {
    // expected-note @below {{recv 0F0 from rank 0 of rank 2, for which 1F0 of rank 2 waits, is here}}
    pipe.recv activation @s0:0[0]
    pipe.recv activation @s0:1[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    // expected-note @below {{send 1I0 to rank 0 of rank 2, for which recv 1I0 from rank 2 of rank 0 waits, is here}}
    pipe.send gradient @s1[0] to @s0:0
    pipe.send gradient @s1[0] to @s0:1
    pipe.issue @c2
    pipe.await @c2
    pipe.step @s1
  }
}
