pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 5000> {
  pipe.device @d0 <memory_bytes = 4000000, flops_per_us = 4000>
  pipe.device @d1 <memory_bytes = 4000000, flops_per_us = 4000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2, ffn = 64, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @h4 block
  pipe.layer @h5 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @h0, @h1] on 0
  pipe.stage @s1 [@h2, @h3, @h4, @h5, @ln_f] on 1
}
