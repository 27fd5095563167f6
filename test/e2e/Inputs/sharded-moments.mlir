// A GPT whose replicas keep all weights, and a shard of the moments each.
pipe.cluster @machine link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 8000000>
  pipe.device @rank1 <memory_bytes = 8000000>
  pipe.device @rank2 <memory_bytes = 8000000>
  pipe.device @rank3 <memory_bytes = 8000000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

pipe.plan @whole of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1]
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @whole_drains of @whole family<"1f1b">
pipe.schedule @whole_pipedream of @whole family<"pipedream">
pipe.schedule @whole_bw of @whole family<"2bw">
pipe.schedule @whole_pipemare of @whole family<"pipemare">
pipe.schedule @whole_timeprest of @whole family<"timeprest">
pipe.schedule @whole_clipped of @whole family<"pipedream"> clip(global)

pipe.plan @shards of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1] sharded<moments>
  pipe.stage @back [@h1, @ln_f] on [2, 3] sharded<moments>
}
pipe.schedule @drains of @shards family<"1f1b">
pipe.schedule @pipedream of @shards family<"pipedream">
pipe.schedule @bw of @shards family<"2bw">
pipe.schedule @pipemare of @shards family<"pipemare">
pipe.schedule @timeprest of @shards family<"timeprest">
pipe.schedule @clipped of @shards family<"pipedream"> clip(global)

// Whole micro-batches in turn, which share a step.
pipe.plan @turns of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1] round_robin sharded<moments>
  pipe.stage @back [@h1, @ln_f] on 2
}
pipe.schedule @in_turns of @turns family<"pipedream">

// Groups of two, and a stage with the embedding and the head that share a weight.
pipe.plan @groups of @gpt on @machine microbatches(4) {
  pipe.stage @all [@wte, @h0, @h1, @ln_f] on [0, 1, 2, 3] sharded<moments, shards = 2>
}
pipe.schedule @in_groups of @groups family<"1f1b">
pipe.plan @whole_groups of @gpt on @machine microbatches(4) {
  pipe.stage @all [@wte, @h0, @h1, @ln_f] on [0, 1, 2, 3]
}
pipe.schedule @whole_in_groups of @whole_groups family<"1f1b">
