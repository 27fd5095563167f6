// State first, then pools of equal slots by size, as many as are held at once.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000,
                           activation_bytes = 320, input_grad_frees_bytes = 128, output_bytes = 100, weight_bytes = 1000>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000,
                           activation_bytes = 512, input_grad_frees_bytes = 256>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">

// The arena of a schedule is the largest that one of its programs needs.
// CHECK-LABEL: pipe.program @main_sequential of @main sequential arena [5184, 960] {
// CHECK: pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p1 on 0 <offset = 1024, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p2 on 0 <offset = 2048, slot_bytes = 2048, slots = 1>
// CHECK-NEXT: pipe.pool @p3 on 0 <offset = 4096, slot_bytes = 192, slots = 1>
// CHECK-NEXT: pipe.pool @p4 on 1 <offset = 0, slot_bytes = 192, slots = 1>
// CHECK: pipe.place weights @s0 in @p0 [0]
// CHECK-NEXT: pipe.place gradients @s0 in @p1 [0]
// CHECK-NEXT: pipe.place moments @s0 in @p2 [0]
// CHECK-NEXT: pipe.place control @s0 in @p3 [0]
// CHECK: pipe.place control @s1 in @p4 [0]
// Rank 0 runs all stages, but each buffer is in the arena of its own rank.
// CHECK: pipe.place saved_for_input_grad @s1 in @p8 [0]

// CHECK-LABEL: pipe.program @main_evaluation of @main evaluation arena [5184, 960] {
// CHECK: pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p1 on 0 <offset = 1024, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p2 on 0 <offset = 2048, slot_bytes = 2048, slots = 1>
// CHECK: pipe.place weights @s0 in @p0 [0]
// Without a backward nothing is kept, and one slot serves all micro-batches.
// CHECK: pipe.place saved_for_weight_grad @s0 in @p6 [0]
// CHECK-NOT: output_grad

// CHECK-LABEL: pipe.program @main_lowered of @main pipeline arena [5184, 960] {
// CHECK: pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p1 on 0 <offset = 1024, slot_bytes = 1024, slots = 1>
// CHECK-NEXT: pipe.pool @p2 on 0 <offset = 2048, slot_bytes = 2048, slots = 1>
// Outputs of 100 bytes, their gradients, and 128 bytes that I needs share one
// pool; rank 0 holds two micro-batches.
// CHECK: pipe.pool @p5 on 0 <offset = 4288, slot_bytes = 128, slots = 4>
// CHECK-NEXT: pipe.pool @p6 on 0 <offset = 4800, slot_bytes = 192, slots = 2>
// CHECK: pipe.place output @s0 in @p5
// CHECK-NEXT: pipe.place output_grad @s0 in @p5
// CHECK-NEXT: pipe.place saved_for_input_grad @s0 in @p5
// A repeating table is as long as its period.
// CHECK-NEXT: pipe.place saved_for_weight_grad @s0 in @p6 [0, 1]
// The last stage holds one micro-batch.
// CHECK: pipe.place saved_for_input_grad @s1 in @p8 [0]
// CHECK-NEXT: pipe.place saved_for_weight_grad @s1 in @p8 [1]
