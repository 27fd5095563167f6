// Stages may state only costs: without weights nothing is reduced.
// RUN: rondo-opt %s --pipe-generate-schedules --pipe-insert-communication | FileCheck %s
// CHECK-LABEL: pipe.program @main_lowered of @main pipeline {
// CHECK-NOT: {{pipe.issue|pipe.await|pipe.step}}

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1, input_grad_frees_bytes = 0, output_bytes = 1>
  pipe.stage @s1 [@lm_head] on 1 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1, input_grad_frees_bytes = 0, output_bytes = 1>
}
pipe.schedule @main of @step family<"1f1b">
