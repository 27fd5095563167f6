// RUN: rondo-opt %s --pipe-schedule | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule | rondo-opt --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=LOWER

pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @c0
  pipe.device @c1
}
pipe.model @gpt gpt<vocab = 64, sequence = 32, hidden = 32, heads = 2, ffn = 64, batch = 2> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}

// The plan is that of the largest batch: costs and buffers are those of a row of the most tokens.
// CHECK: pipe.plan @drawn of @gpt on @lab microbatches(3) tokens<most = 80, in_flight = 160> {
// CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 costs<forward_ns = [[F:[0-9]+]], input_grad_ns = [[I:[0-9]+]],
// CHECK-SAME: output_bytes = 10240>
// CHECK-SAME: buffers<
pipe.plan @drawn of @gpt on @lab microbatches(3) tokens<most = 80, in_flight = 160> {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @order of @drawn family<"1f1b">

// The same row, as a list.
// CHECK: pipe.plan @listed of @gpt on @lab microbatches(3) documents
// CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 costs<forward_ns = [[F]], input_grad_ns = [[I]],
pipe.plan @listed of @gpt on @lab microbatches(3) documents [[32, 32, 16], [32, 32, 16], [32, 32, 16]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}

// LOWER: pipe.program @order_sequential of @order sequential
// LOWER: pipe.program @order_lowered of @order pipeline
