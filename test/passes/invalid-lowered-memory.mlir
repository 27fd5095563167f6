// The rules of a program's memory, L3 and L4, each broken alone. Valid programs: invalid-lowered.mlir.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-lowered -split-input-file -verify-diagnostics

// L3: the gradient arrives where activations still lie.
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
  pipe.place output_grad @s0 in @p2 [0, 0]
  pipe.place saved_for_weight_grad @s0 in @p2 [0, 1]
  pipe.place control @s1 in @p1 [0]
  pipe.place input @s1 in @p3 [0]
  pipe.place input_grad @s1 in @p3 [1]
  pipe.rank 0 {
    // expected-note @below {{the conflicting operation, on rank 0, is here}}
    pipe.forward @s0[0]
    pipe.send activation @s0[0]
    pipe.forward @s0[1]
    pipe.send activation @s0[1]
    // expected-error @below {{recv 1I0 from rank 1 at position 4 of rank 0 takes slot 0 of pool @p2 for output_grad of stage 0, micro-batch 0, where saved_for_weight_grad of stage 0, micro-batch 0 still lies, taken at position 0 [L3]}}
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

// L3: a gradient is written where the next input lies already.
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
  pipe.place input_grad @s1 in @p3 [1, 1]
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
    // expected-note @below {{the conflicting operation, on rank 1, is here}}
    pipe.recv activation @s0[1]
    // expected-error @below {{1B0 at position 3 of rank 1 takes slot 1 of pool @p3 for input_grad of stage 1, micro-batch 0, where input of stage 1, micro-batch 1 still lies, taken at position 2 [L3]}}
    pipe.backward @s1[0]
    pipe.send gradient @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.send gradient @s1[1]
  }
}

// -----

// L4: the pools need more than the arena.
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
pipe.program @main of @mine pipeline arena [320, 320] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  // expected-error @below {{pool @p2 of 3 slots of 64 bytes at offset 192 does not lie in the 320 bytes of rank 0's arena [L4]}}
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

// L4: the arena is more than the device has.
// expected-note @below {{this is the device; the arena holds 192 bytes of control and data, 192 of activations and messages}}
pipe.cluster @lab { pipe.device @d0 <memory_bytes = 383> pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @below {{`rondo search FILE --placement auto --microbatches LIST` searches for a plan that fits}}
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
  // expected-error @below {{rank 0 needs an arena of 384 bytes, 1 more than its device's 383 [L4]}}
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

// L4: two pools overlap.
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
  // expected-error @below {{pool @p2 begins at offset 128 of rank 0, inside pool @p0, which ends at 192 [L4]}}
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 64, slots = 3>
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

// L4: slots begin at multiples of 64 bytes.
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
pipe.program @main of @mine pipeline arena [384, 384] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 192, slots = 1>
  pipe.pool @p2 on 0 <offset = 192, slot_bytes = 64, slots = 3>
  // expected-error @below {{pool @p3 of 2 slots of 64 bytes at offset 196 has a slot that does not begin at a multiple of 64 bytes [L4]}}
  pipe.pool @p3 on 1 <offset = 196, slot_bytes = 64, slots = 2>
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

// L4: a pool of more slots than tables can name. What follows each slot is not
// asked.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @mine of @step { pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] } }
pipe.program @main of @mine pipeline arena [256] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 192, slots = 1>
  // expected-error @below {{pool @p1 of 2147483647 slots of 0 bytes at offset 192 has more slots than a table names, 65536 [L4]}}
  pipe.pool @p1 on 0 <offset = 192, slot_bytes = 0, slots = 2147483647>
  pipe.place control @s0 in @p0 [0]
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
}
