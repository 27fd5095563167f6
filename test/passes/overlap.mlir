// Iterations that overlap, from a family to a program. The order, the places of messages and the rings of buffers
// are the same in every iteration, and weights have as many slots as the versions that are read.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s --check-prefix=ORDER
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=PROGRAM
// The printed text compiles to the same text.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower > %t.mlir
// RUN: rondo-opt %t.mlir --pipe-roll --pipe-plan-memory --pipe-verify-lowered | diff %t.mlir -

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 32, sequence = 8, hidden = 16, heads = 2, ffn = 16, batch = 1, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@head] on 2
}

// The policy of a family is written down.
// ORDER: pipe.schedule @pipedream of @step family<"pipedream"> versions<"pipedream"> {
// ORDER-NEXT: pipe.rank 0 {
// ORDER-NEXT:   pipe.forward @s0[0]
// ORDER-NEXT:   pipe.forward @s0[1]
// ORDER-NEXT:   pipe.repeat %[[T:.*]] {
// ORDER-NEXT:     pipe.forward @s0[%[[T]] * 2 + 2]
// ORDER-NEXT:     pipe.backward @s0[%[[T]] * 2]
// ORDER-NEXT:     pipe.forward @s0[%[[T]] * 2 + 3]
// ORDER-NEXT:     pipe.backward @s0[%[[T]] * 2 + 1]
// ORDER-NEXT:     pipe.step @s0[%[[T]]]
// ORDER-NEXT:   }
// ORDER-NEXT: }
// ORDER-NEXT: pipe.rank 1 {
// ORDER-NEXT:   pipe.forward @s1[0]
// ORDER-NEXT:   pipe.repeat
// ORDER: pipe.rank 2 {
// ORDER-NEXT:   pipe.repeat %[[T:.*]] {
// ORDER-NEXT:     pipe.forward @s2[%[[T]] * 2]
// ORDER-NEXT:     pipe.backward @s2[%[[T]] * 2]
// ORDER-NEXT:     pipe.forward @s2[%[[T]] * 2 + 1]
// ORDER-NEXT:     pipe.backward @s2[%[[T]] * 2 + 1]
// ORDER-NEXT:     pipe.step @s2[%[[T]]]

// PROGRAM: pipe.program @pipedream_lowered of @pipedream pipeline arena
// No norm: gradients are clipped by stage.
// PROGRAM-NOT: pipe.collective
// PROGRAM: pipe.place weights @s0 in @p{{[0-9]+}} [0, 1]
// PROGRAM: pipe.place output @s0 in @p{{[0-9]+}} [0{{(, [0-9])*}}]
// PROGRAM: pipe.place saved_for_weight_grad @s0 in @p{{[0-9]+}} [0, 1, 2]
// PROGRAM: pipe.place weights @s2 in @p{{[0-9]+}} [0]
// PROGRAM: pipe.rank 1 {
// PROGRAM: pipe.repeat %[[T:.*]] {
// PROGRAM: pipe.recv gradient @s2[%[[T]] * 2
// PROGRAM: pipe.step @s1[%[[T]]]
pipe.schedule @pipedream of @step family<"pipedream">

// One backward serves an iteration; a program runs it for each micro-batch, and each gradient leaves by itself.
// ORDER: pipe.schedule @timeprest of @step family<"timeprest"> versions<"timeprest"> {
// ORDER: pipe.repeat
// ORDER: pipe.backward @s0[%{{.*}} * 2] count(2)
// PROGRAM: pipe.program @timeprest_lowered of @timeprest pipeline
// PROGRAM-NOT: count(
// PROGRAM: pipe.rank 2 {
// PROGRAM: pipe.repeat
// PROGRAM: pipe.backward @s2[%[[INDEX:.* \* 2]]]
// PROGRAM-NEXT: pipe.send gradient @s2[%[[INDEX]]]
// PROGRAM: pipe.backward @s2[%[[INDEX]] + 1]
// PROGRAM-NEXT: pipe.send gradient @s2[%[[INDEX]] + 1]
pipe.schedule @timeprest of @step family<"timeprest">

// Weights that are moved back keep the mean of their changes.
// PROGRAM: pipe.program @pipemare_lowered of @pipemare pipeline
// PROGRAM: pipe.place weights @s0 in @p{{[0-9]+}} [0]
// PROGRAM: pipe.place weight_changes @s0 in
pipe.schedule @pipemare of @step family<"pipemare">

// The norm of all gradients is that of an earlier iteration: begun after the step that makes a part, awaited
// before a later one. The first steps have none.
// ORDER: pipe.schedule @clipped of @step family<"pipedream"> versions<"pipedream"> clip(global) {
// PROGRAM: pipe.program @clipped_lowered of @clipped pipeline arena
// PROGRAM-NEXT: pipe.collective @c0 gradient_norm [@s0, @s1, @s2] later = 1
// PROGRAM: pipe.rank 1 {
// PROGRAM-NOT: pipe.await
// PROGRAM: pipe.repeat %[[T:.*]] {
// PROGRAM-NEXT: pipe.step @s1[%[[T]]]
// PROGRAM-NEXT: pipe.issue @c0[%[[T]]]
// PROGRAM: pipe.backward
// PROGRAM: pipe.await @c0[%[[T]]]
// PROGRAM-NEXT: }
pipe.schedule @clipped of @step family<"pipedream"> clip(global)
