// An adaptive executable of one schedule gets those that are faster under other
// conditions of the network, of plans with other micro-batches too.
// RUN: rondo-opt %s --pipe-schedule > %t
// RUN: FileCheck %s < %t
// Chosen once, they stay.
// RUN: rondo-opt %t --pipe-schedule | diff %t -
// They lower and keep the rules of programs over one arena.
// RUN: rondo-opt %t --pipe-lower -o /dev/null

pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 2000> {
  pipe.device @d0 <memory_bytes = 4000000, flops_per_us = 10000>
  pipe.device @d1 <memory_bytes = 4000000, flops_per_us = 10000>
}
pipe.model @gpt gpt<vocab = 64, sequence = 16, hidden = 32, heads = 2, ffn = 64, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
// CHECK: pipe.plan @step of @gpt on @lab microbatches(4) {
// CHECK: pipe.plan @step_m[[M:[0-9]+]] of @gpt on @lab microbatches([[M]]) samples(
// CHECK: costs<forward_ns = {{[1-9]}}
pipe.plan @step of @gpt on @lab microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @ln_f] on 1
}
// CHECK: pipe.schedule @main of @step family<"1f1b"> {
// CHECK: pipe.schedule @{{k[0-9]+|searched}}_m{{[0-9]+}} of @step{{.*}} {
pipe.schedule @main of @step family<"1f1b">
// CHECK: pipe.executable @train of [@main, @{{.*}}] adaptive<candidates = 4, effort = 100>
pipe.executable @train of [@main] adaptive<candidates = 4, effort = 100>
