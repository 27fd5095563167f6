// Programs: collectives, memory, messages and optimizer steps.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

// CHECK-LABEL: pipe.program @main of @mine pipeline arena [4096, 8192] {
pipe.program @main of @mine pipeline arena [4096, 8192] {
  // CHECK-NEXT: pipe.collective @c0 tied_gradients "wte" [@s0, @s1]
  pipe.collective @c0 tied_gradients "wte" [@s0, @s1]
  // CHECK-NEXT: pipe.collective @c1 gradient_norm [@s0, @s1]
  pipe.collective @c1 gradient_norm [@s0, @s1]
  // CHECK-NEXT: pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1024, slots = 3>
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1024, slots = 3>
  // CHECK-NEXT: pipe.pool @p1 on 1 staging <offset = 0, slot_bytes = 256, slots = 1>
  pipe.pool @p1 on 1 staging <offset = 0, slot_bytes = 256, slots = 1>
  // CHECK-NEXT: pipe.place weights @s0 in @p0 [0]
  pipe.place weights @s0 in @p0 [0]
  // CHECK-NEXT: pipe.place saved_for_weight_grad @s0 in @p0 [0, 1, 2, 0]
  pipe.place saved_for_weight_grad @s0 in @p0 [0, 1, 2, 0]
  pipe.rank 1 {
    pipe.for %i = 0 to 4 {
      // CHECK: pipe.recv activation @s0[%i]
      pipe.recv activation @s0[%i]
      pipe.forward @s1[%i]
      pipe.backward @s1[%i]
      // CHECK: pipe.send gradient @s1[%i]
      pipe.send gradient @s1[%i]
    }
    // CHECK: pipe.issue @c0
    pipe.issue @c0
    // CHECK-NEXT: pipe.await @c0
    pipe.await @c0
    // CHECK-NEXT: pipe.step @s1
    pipe.step @s1
  }
}

// Before memory is planned.
// CHECK-LABEL: pipe.program @reference of @mine sequential {
pipe.program @reference of @mine sequential { }
// CHECK-LABEL: pipe.program @held_out of @mine evaluation {
pipe.program @held_out of @mine evaluation { }
