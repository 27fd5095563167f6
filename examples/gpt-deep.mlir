// A GPT of 16 layers on four ranks: enough for two and for four stages per rank.
//
//   rondo search examples/gpt-deep.mlir --placement auto -o best.mlir

pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank1 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank2 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @rank3 <memory_bytes = 67108864, flops_per_us = 40000>
}

pipe.model @gpt gpt<vocab = 256, sequence = 128, hidden = 144, heads = 4,
                    ffn = 576, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @h4 block
  pipe.layer @h5 block
  pipe.layer @h6 block
  pipe.layer @h7 block
  pipe.layer @h8 block
  pipe.layer @h9 block
  pipe.layer @h10 block
  pipe.layer @h11 block
  pipe.layer @h12 block
  pipe.layer @h13 block
  pipe.layer @ln_f head
}

pipe.plan @step of @gpt on @machine microbatches(8) {
  pipe.stage @s0 [@wte, @h0, @h1, @h2] on 0
  pipe.stage @s1 [@h3, @h4, @h5, @h6] on 1
  pipe.stage @s2 [@h7, @h8, @h9, @h10] on 2
  pipe.stage @s3 [@h11, @h12, @h13, @ln_f] on 3
}

pipe.schedule @one_f_one_b of @step family<"1f1b">
