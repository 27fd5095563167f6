// Nothing in an evaluation waits for gradients, but the fast rank does not run
// ahead of the slow one: two messages are under way, however many micro-batches
// there are. All programs of the schedule have the arena that the largest needs.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 10, input_grad_ns = 10, weight_grad_ns = 10, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 10, weight_grad_ns = 10>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">

// CHECK-LABEL: pipe.program @main_evaluation of @main evaluation arena [320, 384] {
// CHECK: pipe.pool @p{{[0-9]+}} on 0 <offset = {{[0-9]+}}, slot_bytes = 64, slots = 2>
// CHECK: pipe.pool @p{{[0-9]+}} on 1 <offset = {{[0-9]+}}, slot_bytes = 64, slots = 2>
// CHECK-LABEL: pipe.program @main_lowered of @main pipeline arena [320, 384] {
// CHECK: pipe.pool @p{{[0-9]+}} on 1 <offset = {{[0-9]+}}, slot_bytes = 64, slots = 3>
