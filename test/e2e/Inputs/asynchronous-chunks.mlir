// One GPT whose iterations overlap, with its stages on ranks of their own and several on a rank.
pipe.cluster @four link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 8000000>
  pipe.device @rank1 <memory_bytes = 8000000>
  pipe.device @rank2 <memory_bytes = 8000000>
  pipe.device @rank3 <memory_bytes = 8000000>
}
pipe.cluster @two link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 8000000>
  pipe.device @rank1 <memory_bytes = 8000000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

pipe.plan @own of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 2
  pipe.stage @s3 [@ln_f] on 3
}
pipe.schedule @own_pipedream of @own family<"pipedream">
pipe.schedule @own_2bw of @own family<"2bw">
pipe.schedule @own_pipemare of @own family<"pipemare">

pipe.plan @looped of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 0
  pipe.stage @s3 [@ln_f] on 1
}
pipe.schedule @loop_pipedream of @looped family<"pipedream">
pipe.schedule @loop_2bw of @looped family<"2bw">
pipe.schedule @loop_pipemare of @looped family<"pipemare">
pipe.schedule @loop_spatial of @looped family<"pipemare", spatial = 1>
pipe.schedule @loop_timeprest of @looped family<"timeprest">
pipe.schedule @loop_clipped of @looped family<"pipedream"> clip(global)

pipe.plan @v of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1 recompute
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @v_pipedream of @v family<"pipedream">
pipe.schedule @v_2bw of @v family<"2bw">
pipe.schedule @v_pipemare of @v family<"pipemare">
pipe.schedule @v_timeprest of @v family<"timeprest">

// A rank with three stages, and one with one.
pipe.plan @uneven of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 0 recompute
  pipe.stage @s2 [@h1] on 1 recompute across
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @across of @uneven family<"pipemare">

// Replicas that take turns, or share the samples.
pipe.plan @dealt of @gpt on @four microbatches(8) {
  pipe.stage @s0 [@wte] on [0, 1] round_robin
  pipe.stage @s1 [@h0] on [2, 3] round_robin
  pipe.stage @s2 [@h1] on [0, 1] round_robin
  pipe.stage @s3 [@ln_f] on [2, 3] round_robin
}
pipe.schedule @in_turn of @dealt family<"pipedream">
pipe.plan @shared of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1]
  pipe.stage @s1 [@h0] on [2, 3]
  pipe.stage @s2 [@h1] on [2, 3]
  pipe.stage @s3 [@ln_f] on [0, 1]
}
pipe.schedule @in_shares of @shared family<"2bw">
