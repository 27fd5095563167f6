// The GPT of gpt-small.mlir on two groups of two ranks: each rank keeps a half
// of the weights, gradients and optimizer state of its group's two stages. It
// gathers a stage's weights while it needs them, for units of four
// micro-batches, and adds its gradients to those of its neighbour (ZeRO-3 in a
// pipeline, as ZeroPP has it).
//
//   rondo compile examples/gpt-sharded.mlir -o train
//   ./train --data FILE
//
// `rondo compile ... --emit=schedule` shows where weights are gathered and
// gradients reduced.

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
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h1] on [2, 3] sharded<weights>
  pipe.stage @s2 [@h2] on [0, 1] sharded<weights>
  pipe.stage @s3 [@h3, @ln_f] on [2, 3] sharded<weights>
}

pipe.schedule @units of @step family<"blockwise", u = 4>
pipe.schedule @one_f_one_b of @step family<"interleaved-1f1b">
