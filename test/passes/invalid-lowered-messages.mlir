// The rules of a program's messages, L1 and L2, each broken alone. Valid programs: invalid-lowered.mlir.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

// L1: the ends of a channel do not agree in their first message.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0]
  pipe.place input_grad @s1 in @p3 [1]
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @below {{message 0 of channel 0>1 is send 0F0 to rank 1 at position 1 of rank 0, but recv 0F1 from rank 0 at position 0 of rank 1 [L1]}}
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.recv activation @s0[1]
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L1: a send is missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0]
  pipe.place input_grad @s1 in @p3 [1]
  // expected-note @below {{the conflicting operation, on rank 0, is here}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    // expected-error @below {{recv 0F1 from rank 0 at position 2 of rank 1 has no other end: channel 0>1 has 1 send and 2 receives [L1]}}
    pipe.recv activation @s0[1]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L1: both ends of a message that a task needs are missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0]
  pipe.place input_grad @s1 in @p3 [1]
  // expected-note @below {{the conflicting operation, on rank 0, is here}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    // expected-error @below {{1F1 at position 4 of rank 1 needs 0F1, which rank 0 does not send [L1]}}
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L2: under rendezvous a send reads its buffer until the receive is posted. Each
// rank waits for the other to do that first.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0, 1]
  pipe.place input_grad @s1 in @p3 [1, 0]
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    // expected-error @below {{rank 0 waits for rank 1 to post the recv of 0F1, at recv 1I0 from rank 1 -> rank 1 waits for rank 0 to post the recv of 1I0, at recv 0F1 from rank 0 [L2]}}
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.recv activation @s0[1]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// The same program runs if a send ends without its receive.
pipe.cluster @lab channels<eager> { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0, 1]
  pipe.place input_grad @s1 in @p3 [1, 0]
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.recv activation @s0[1]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L2: one receive slot, and two receives before the task that frees it.
pipe.cluster @lab channels<rendezvous, receive_slots = 1> { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @main of @mine pipeline arena [384, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  pipe.pool @p3 on 1 <offset = 192, slot_bytes = 64, slots = 2>
  pipe.place control @s0 in @p0 [0]
  pipe.place output @s0 in @p2 [1, 2]
  pipe.place output_grad @s0 in @p2 [2, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0, 1]
  pipe.place input_grad @s1 in @p3 [0, 1]
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    // expected-error @below {{rank 1 waits for itself to run 1F0, at recv 0F1 from rank 0, which comes before it; a channel has 1 receive slot: raise receive_slots in the cluster's channels<...>, with 2 the program runs to its end [L2]}}
    pipe.recv activation @s0[1]
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}
