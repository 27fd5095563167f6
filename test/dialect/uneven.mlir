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

// Costs and buffers follow from the documents.
// CHECK: pipe.plan @packed of @gpt on @lab microbatches(3) documents {{\[\[}}20, 30], [8], [32, 32, 32]] {
// CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 costs<forward_ns = [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}]
// CHECK-SAME: output_bytes = [6400, 1024, 12288]
// CHECK-SAME: buffers[<{{.*}}output = 6400{{.*}}>, <{{.*}}output = 1024{{.*}}>, <{{.*}}output = 12288{{.*}}>]
pipe.plan @packed of @gpt on @lab microbatches(3) documents [[20, 30], [8], [32, 32, 32]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// CHECK: pipe.schedule @mine of @packed accumulate([2, 0, 1]) {
pipe.schedule @mine of @packed accumulate([2, 0, 1]) {
  pipe.rank 0 {
    pipe.forward @s0[2] pipe.forward @s0[0] pipe.backward @s0[2]
    pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.forward @s1[2] pipe.backward @s1[2] pipe.forward @s1[0] pipe.backward @s1[0]
    pipe.forward @s1[1] pipe.backward @s1[1]
  }
}

// Documents of equal lengths in each micro-batch have equal costs, and one number each.
// CHECK: pipe.plan @alike of @gpt
// CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 costs<forward_ns = {{[0-9]+}}, input_grad_ns = {{[0-9]+}},
// CHECK-SAME: buffers<
pipe.plan @alike of @gpt on @lab microbatches(2) documents [[20, 30], [30, 20]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @same of @alike family<"1f1b">

// CHECK: synthetic<forward_ns = [400, 100, 100], input_grad_ns = 500, weight_grad_ns = 300>
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [400, 100, 100], input_grad_ns = 500, weight_grad_ns = 300>
  pipe.layer @l1 synthetic<forward_ns = 100, input_grad_ns = 500, weight_grad_ns = 300>
}
pipe.plan @lists of @timed on @lab microbatches(3) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// CHECK: pipe.schedule @sorted of @lists family<"1f1b", order = ascending> accumulate([1, 2, 0]) {
pipe.schedule @sorted of @lists family<"1f1b", order = ascending>
// CHECK: pipe.schedule @searched of @lists search<effort = 10, orders = index> found<
// CHECK-NOT: accumulate
// CHECK: pipe.schedule @any of @lists search<effort = 10> found<
pipe.schedule @searched of @lists search<effort = 10, orders = index>
pipe.schedule @any of @lists search<effort = 10>

// The reference adds in the order of the schedule.
// LOWER: pipe.program @mine_sequential of @mine sequential
// LOWER: pipe.rank 0 {
// LOWER-NEXT: pipe.for %i = 0 to 2 {
// LOWER-NEXT: pipe.forward @s0[%i * -2 + 2]
// LOWER-NEXT: pipe.forward @s1[%i * -2 + 2]
// LOWER-NEXT: pipe.backward @s1[%i * -2 + 2]
// LOWER: pipe.forward @s0[1]
// LOWER: pipe.program @mine_lowered of @mine pipeline
// LOWER: pipe.place output @s0 in @p{{[0-9]+}} [{{[0-9]+}}, {{[0-9]+}}, {{[0-9]+}}] spans [100, 16, 192]

// Measured times and what has no gradient follow the tokens of each row.
// CHECK: pipe.plan @rows of @own
// CHECK-NEXT: pipe.stage @s0 [@wte, @mix] on 0 costs<forward_ns = [1{{[0-9]+}}, 12{{[0-9]+}}]
// CHECK-SAME: output_bytes = [16384, 2048]{{.*}} output_without_grad_bytes = [8192, 1024]>
pipe.model @own gpt<vocab = 64, sequence = 32, hidden = 32, heads = 2, ffn = 64, batch = 2> {
  pipe.layer @wte embedding costs<forward_ns = 0, input_grad_ns = 0, weight_grad_ns = 0>
  pipe.layer @mix custom<body = "mix", output_bytes = 16384, output_without_grad_bytes = 8192, forward_flops = 1000000,
                         documents = true>
      costs<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000>
  pipe.layer @back custom<body = "back", output_bytes = 8192, documents = true>
  pipe.layer @lm_head head
}
pipe.plan @rows of @own on @lab microbatches(2) documents [[32, 32], [8]] {
  pipe.stage @s0 [@wte, @mix] on 0
  pipe.stage @s1 [@back, @lm_head] on 1
}
pipe.schedule @rows_in_order of @rows family<"1f1b">
