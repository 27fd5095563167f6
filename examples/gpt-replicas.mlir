// The GPT of gpt-small.mlir in two stages, each with a replica on two of four
// ranks: both replicas have the stage's weights, each takes two of the four samples
// of every micro-batch, and their gradients are added.
//
//   rondo compile examples/gpt-replicas.mlir -o train
//   ./train --data FILE
//
// With `on [0: 3, 1: 1]` rank 0 takes three samples and rank 1 one.

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
  pipe.stage @s0 [@wte, @h0, @h1] on [0, 1]
  pipe.stage @s1 [@h2, @h3, @ln_f] on [2, 3]
}

pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
