// Messages are sent after their task, and received where they are needed.
// RUN: rondo-opt %s --pipe-schedule --pipe-insert-communication | FileCheck %s

pipe.cluster @lab link<latency_ns = 100> { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @lm_head head costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @main of @step family<"1f1b">

// The reference runs everything on one rank: no messages.
// CHECK-LABEL: pipe.program @main_sequential of @main sequential {
// CHECK-NEXT: pipe.collective @c0 tied_gradients "wte.weight" [@s0, @s2]
// CHECK-NEXT: pipe.collective @c1 gradient_norm [@s0, @s1, @s2]
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: pipe.forward @s2[%[[I]]]
// CHECK-NEXT: pipe.backward @s2[%[[I]]]
// CHECK-NEXT: pipe.backward @s1[%[[I]]]
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.issue @c0
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.issue @c1
// CHECK-NEXT: pipe.await @c1
// CHECK-NEXT: pipe.step @s0
// CHECK-NEXT: pipe.step @s1
// CHECK-NEXT: pipe.step @s2

// Forward only: nothing is reduced and no weight changes.
// CHECK-LABEL: pipe.program @main_evaluation of @main evaluation {
// CHECK-NOT: backward
// CHECK-NOT: all_reduce
// CHECK-NOT: step
// CHECK: pipe.rank 1 {
// A message takes 100 ns, so the next one is received after the running task.
// CHECK: pipe.for %[[I:.*]] = 1 to 8 {
// CHECK-NEXT: pipe.recv activation @s0[%[[I]]]
// CHECK-NEXT: pipe.forward @s1[%[[I]] - 1]
// CHECK-NEXT: pipe.send activation @s1[%[[I]] - 1]

// CHECK-LABEL: pipe.program @main_lowered of @main pipeline {
// CHECK: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.send activation @s0[%[[I]]]
// CHECK: pipe.rank 1 {
// CHECK: pipe.recv gradient @s2[0]
// CHECK-NEXT: pipe.backward @s1[0]
// CHECK-NEXT: pipe.send gradient @s1[0]
// A gradient that arrives while a forward runs is received before it.
// CHECK-NEXT: pipe.recv gradient @s2[1]
// CHECK-NEXT: pipe.forward @s1[2]
// CHECK-NEXT: pipe.send activation @s1[2]
// CHECK-NEXT: pipe.backward @s1[1]
// The middle stage holds no part of the tied weight.
// CHECK: pipe.issue @c1
// CHECK-NEXT: pipe.await @c1
// CHECK-NEXT: pipe.step @s1
// CHECK: pipe.rank 2 {
// CHECK: pipe.issue @c0
// CHECK-NEXT: pipe.await @c0
// CHECK-NEXT: pipe.issue @c1
// CHECK-NEXT: pipe.await @c1
// CHECK-NEXT: pipe.step @s2
// CHECK-NEXT: }
