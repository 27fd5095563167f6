// A program in order, and L5: each task once and in the schedule's order. The rules of messages and of memory are broken in
// invalid-lowered-messages.mlir and invalid-lowered-memory.mlir.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

// Nothing is wrong with this program; each of the others differs from it by little.
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
    pipe.recv activation @s0[1]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L5: a task is missing.
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
  // expected-error @below {{0B1 is missing at the end of rank 0 [L5]}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    // expected-note @below {{the conflicting operation, on rank 0, is here}}
    pipe.send activation @s0[1]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.recv activation @s0[1]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L5: not the schedule's order.
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
    // expected-error @below {{0F1 at position 0 of rank 0 comes where the schedule has 0F0 [L5]}}
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.recv gradient @s1[0]
    pipe.backward @s0[0]
    pipe.recv gradient @s1[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.recv activation @s0[0]
    pipe.forward @s1[0]
    pipe.recv activation @s0[1]
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}
