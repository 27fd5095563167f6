// What I leaves for W lies in memory from the start of I to the end of W: a slot
// for each micro-batch whose W is open, and one while a B runs.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000,
                           activation_bytes = 320, input_grad_frees_bytes = 128, output_bytes = 100,
                           input_grad_keeps_bytes = 1000>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000,
                           activation_bytes = 320, input_grad_frees_bytes = 128,
                           input_grad_keeps_bytes = 1000>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @fused of @step family<"1f1b">
pipe.schedule @split of @step family<"zb-h1">

// A B needs its slot while it runs; F of two micro-batches needs two slots.
// CHECK-LABEL: pipe.plan @step
// CHECK: input_grad_keeps_bytes = 1000> buffers<{{.*}}saved_for_weight_grad = 192, kept_for_weight_grad = 1024>
// CHECK-LABEL: pipe.program @fused_sequential
// CHECK: pipe.place kept_for_weight_grad @s0 in @p4 [0]
// CHECK-LABEL: pipe.program @fused_evaluation
// CHECK-NOT: kept_for_weight_grad
// CHECK-LABEL: pipe.program @fused_lowered of @fused pipeline arena [2112, 1792]
// CHECK: pipe.pool @p3 on 0 <offset = 704, slot_bytes = 192, slots = 2>
// CHECK-NEXT: pipe.pool @p4 on 0 <offset = 1088, slot_bytes = 1024, slots = 1>
// CHECK: pipe.place kept_for_weight_grad @s0 in @p4 [0]

// W of the last stage comes after the next I.
// CHECK-LABEL: pipe.program @split_lowered of @split pipeline arena [2112, 3008]
// CHECK: pipe.pool @p7 on 1 <offset = 960, slot_bytes = 1024, slots = 2>
// CHECK: pipe.place kept_for_weight_grad @s0 in @p4 [0]
// CHECK: pipe.place kept_for_weight_grad @s1 in @p7 [0, 1]
