// A byte-level GPT of about one million parameters on four ranks, with eight
// micro-batches of four samples per iteration.
//
//   rondo compile examples/gpt-small.mlir -o train
//   ./train --data FILE

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
  pipe.layer @ln_f head
}

pipe.plan @step of @gpt on @machine microbatches(8) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 2
  pipe.stage @s3 [@h3, @ln_f] on 3
}

// The first schedule is the one that is compiled, unless --schedule names
// another.
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 1000>
