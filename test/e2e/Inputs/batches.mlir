pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @c0
  pipe.device @c1
  pipe.device @c2
  pipe.device @c3
}
pipe.model @gpt gpt<vocab = 256, sequence = 32, hidden = 32, heads = 2, ffn = 64, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}
pipe.plan @drawn of @gpt on @lab microbatches(4) tokens<most = 80, in_flight = 160> {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @lm_head] on 3
}
pipe.schedule @largest of @drawn search<effort = 100>
