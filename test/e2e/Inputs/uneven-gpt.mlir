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
pipe.plan @packed of @gpt on @lab microbatches(4) documents [[20, 30, 10], [8], [32, 32, 32], [14, 6]] {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @lm_head] on 3
}
pipe.schedule @given of @packed family<"1f1b">
pipe.schedule @sorted of @packed family<"1f1b", order = descending>
pipe.schedule @searched of @packed search<effort = 100>
