// Pools and collectives may have the name of a stage. Which of them a name refers to follows from its place in the op:
// the compiler itself calls the first pool @p0 and the first collective @c0, whatever the stages are called.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --verify-roundtrip -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: rondo-opt %t --pipe-roll --pipe-verify-scheduled --pipe-verify-lowered | diff %t -

// CHECK-LABEL: pipe.program @main_lowered
// CHECK: pipe.collective @c0 gradient_norm [@p0, @c0]
// CHECK: pipe.pool @p0 on 0
// CHECK: pipe.place weights @p0 in @p0 [0]
// CHECK: pipe.place weights @c0 in @p4 [0]
// CHECK: pipe.issue @c0
// CHECK: pipe.step @p0

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @p0 [@l0] on 0
  pipe.stage @c0 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">
