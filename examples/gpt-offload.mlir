// A GPT on four ranks that trains in half of the activations of 1F1B: tests edit
// the memory of the devices.
pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0 <memory_bytes = 2600000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
  pipe.device @d1 <memory_bytes = 2600000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
  pipe.device @d2 <memory_bytes = 2600000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
  pipe.device @d3 <memory_bytes = 2600000, host_link = <latency_ns = 1000, bytes_per_us = 20000>>
}
pipe.model @gpt gpt<vocab = 128, sequence = 128, hidden = 32, heads = 4, ffn = 64, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  pipe.stage @s0 [@wte, @h0] on 0 offload
  pipe.stage @s1 [@h1] on 1 offload
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @lm_head] on 3
}
pipe.schedule @plain of @step family<"1f1b">
pipe.schedule @copied of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.save @s0[0] pipe.forward @s0[1] pipe.save @s0[1] pipe.forward @s0[2] pipe.save @s0[2]
    pipe.forward @s0[3] pipe.load @s0[0] pipe.backward @s0[0] pipe.forward @s0[4] pipe.save @s0[4] pipe.load @s0[1]
    pipe.backward @s0[1] pipe.forward @s0[5] pipe.save @s0[5] pipe.load @s0[2] pipe.backward @s0[2]
    pipe.forward @s0[6] pipe.save @s0[6] pipe.backward @s0[3] pipe.forward @s0[7] pipe.load @s0[4]
    pipe.backward @s0[4] pipe.load @s0[5] pipe.backward @s0[5] pipe.load @s0[6] pipe.backward @s0[6]
    pipe.backward @s0[7]
  }
  pipe.rank 1 {
    pipe.forward @s1[0] pipe.save @s1[0] pipe.forward @s1[1] pipe.save @s1[1] pipe.forward @s1[2] pipe.load @s1[0]
    pipe.backward @s1[0] pipe.forward @s1[3] pipe.save @s1[3] pipe.load @s1[1] pipe.backward @s1[1]
    pipe.forward @s1[4] pipe.save @s1[4] pipe.backward @s1[2] pipe.forward @s1[5] pipe.load @s1[3]
    pipe.backward @s1[3] pipe.forward @s1[6] pipe.save @s1[6] pipe.load @s1[4] pipe.backward @s1[4]
    pipe.forward @s1[7] pipe.save @s1[7] pipe.backward @s1[5] pipe.load @s1[6] pipe.backward @s1[6] pipe.load @s1[7]
    pipe.backward @s1[7]
  }
  pipe.rank 2 {
    pipe.forward @s2[0]
    pipe.for %i = 0 to 7 { pipe.forward @s2[%i + 1] pipe.backward @s2[%i] }
    pipe.backward @s2[7]
  }
  pipe.rank 3 { pipe.for %i = 0 to 8 { pipe.forward @s3[%i] pipe.backward @s3[%i] } }
}
