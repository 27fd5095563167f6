// One micro-batch an iteration, norms that are late, and sums that wait for them: of replicas, and of a weight that
// stages share.
pipe.cluster @lab link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @d0 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @d1 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @d2 <memory_bytes = 134217728, flops_per_us = 40000>
  pipe.device @d3 <memory_bytes = 134217728, flops_per_us = 40000>
}
pipe.model @tied gpt<vocab = 256, sequence = 16, hidden = 16, heads = 2, ffn = 32, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @head head
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 16, heads = 2, ffn = 32, batch = 2, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @head head
}
pipe.plan @shares of @tied on @lab microbatches(1) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@head] on 3
}
pipe.plan @wide_middle of @gpt on @lab microbatches(1) {
  pipe.stage @m0 [@wte] on 0
  pipe.stage @m1 [@h0] on [1, 2]
  pipe.stage @m2 [@head] on 3
}
pipe.plan @wide_end of @gpt on @lab microbatches(1) {
  pipe.stage @e0 [@wte] on 0
  pipe.stage @e1 [@h0] on 1
  pipe.stage @e2 [@head] on [2, 3]
}
pipe.schedule @share of @shares family<"pipedream"> clip(global)
pipe.schedule @middle of @wide_middle family<"pipedream"> clip(global)
pipe.schedule @end of @wide_end family<"timeprest"> clip(global)
