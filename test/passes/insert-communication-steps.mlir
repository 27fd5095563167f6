// Steps stay where the schedule has them. A collective is issued after the last gradient that its rank adds to it, and
// awaited before the first step that needs it; other programs have their steps at the end.
// RUN: rondo-opt %s --pipe-schedule --pipe-insert-communication | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-roll -o %t
// RUN: rondo-opt %t --pipe-roll | diff %t -

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @lm_head head costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@lm_head] on 1
}
// CHECK-LABEL: pipe.schedule @mine of @step norm(none) {
pipe.schedule @mine of @step norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s0[0]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
    pipe.step @s2
  }
}
// CHECK-LABEL: pipe.program @mine_sequential of @mine sequential {
// CHECK: pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s2]
// CHECK-NEXT: pipe.collective @c1 gradient_norm [@s0, @s1, @s2]
// CHECK: pipe.issue @c0
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.issue @c1
// CHECK-NEXT: pipe.await @c1
// CHECK-NEXT: pipe.step @s0
// CHECK-NEXT: pipe.step @s1
// CHECK-NEXT: pipe.step @s2
// CHECK-LABEL: pipe.program @mine_evaluation of @mine evaluation {
// CHECK-NOT: pipe.step
// CHECK-LABEL: pipe.program @mine_lowered of @mine pipeline {
// CHECK-NEXT: pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s2]
// CHECK-NEXT: pipe.rank 0 {
// CHECK: pipe.backward @s0[1]
// CHECK-NEXT: pipe.issue @c0
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.step @s0
// CHECK-NEXT: }
// CHECK: pipe.backward @s2[1]
// CHECK-NEXT: pipe.issue @c0
// CHECK: pipe.backward @s1[1]
// CHECK-NEXT: pipe.send gradient @s1[1]
// CHECK-NEXT: pipe.step @s1
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.step @s2

// With a norm, which reads the sum.
// CHECK-LABEL: pipe.schedule @clipped of @step {
pipe.schedule @clipped of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
    pipe.step @s2
  }
}
// CHECK-LABEL: pipe.program @clipped_lowered of @clipped pipeline {
// CHECK: pipe.rank 1 {
// CHECK: pipe.backward @s2[1]
// CHECK-NEXT: pipe.issue @c0
// CHECK: pipe.send gradient @s1[1]
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.issue @c1
// CHECK-NEXT: pipe.await @c1
// CHECK-NEXT: pipe.step @s1
// CHECK-NEXT: pipe.step @s2
