// A GPT on two ranks, all of whose forwards come first: the first rank holds
// two micro-batches of the part that it copies to the host.
pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0 <memory_bytes = 304000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
  pipe.device @d1 <memory_bytes = 1000000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
}
pipe.model @gpt gpt<vocab = 128, sequence = 8, hidden = 32, heads = 4, ffn = 64, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0 offload
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.schedule @copied of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] pipe.save @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.load @s0[%i] pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
