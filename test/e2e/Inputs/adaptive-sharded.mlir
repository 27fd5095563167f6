// A pipeline of two groups of two ranks, whose state is sharded in three ways.
pipe.cluster @machine link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @rank0 <memory_bytes = 4000000, flops_per_us = 2000>
  pipe.device @rank1 <memory_bytes = 4000000, flops_per_us = 2000>
  pipe.device @rank2 <memory_bytes = 4000000, flops_per_us = 2000>
  pipe.device @rank3 <memory_bytes = 4000000, flops_per_us = 2000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @zero3 of @gpt on @machine microbatches(6) {
  pipe.stage @front [@wte, @h0] on [0, 1] sharded<weights>
  pipe.stage @back [@h1, @ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @weights of @zero3 family<"gpipe">
pipe.plan @zero2 of @gpt on @machine microbatches(6) {
  pipe.stage @front [@wte, @h0] on [0, 1] sharded<gradients>
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @gradients of @zero2 family<"gpipe">
pipe.plan @zero1 of @gpt on @machine microbatches(6) {
  pipe.stage @front [@wte, @h0] on [0, 1] sharded<optimizer>
  pipe.stage @back [@h1, @ln_f] on [2, 3] sharded<optimizer>
}
pipe.schedule @optimizer of @zero1 family<"gpipe">

// Two chunks a rank, with gradients reduced whenever the rank goes on.
pipe.plan @chunks of @gpt on @machine microbatches(6) {
  pipe.stage @s0 [@wte] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h0] on [2, 3] sharded<weights>
  pipe.stage @s2 [@h1] on [0, 1] sharded<weights>
  pipe.stage @s3 [@ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @looped of @chunks family<"interleaved-1f1b">
