pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @c0
  pipe.device @c1
}
pipe.model @gpt gpt<vocab = 64, sequence = 32, hidden = 32, heads = 2, ffn = 64, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @drawn of @gpt on @lab microbatches(3) tokens<most = 80, in_flight = 160> {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @in_flight of @drawn family<"1f1b">
