// Three stages whose iterations overlap, in several ways; tied head.
pipe.cluster @machine link<latency_ns = 2000> {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@ln_f] on 2
}
pipe.schedule @drained of @step family<"1f1b">
pipe.schedule @pipedream of @step family<"pipedream">
pipe.schedule @twobw of @step family<"2bw">
pipe.schedule @pipemare of @step family<"pipemare">
pipe.schedule @timeprest of @step family<"timeprest">
// Clipped by the norm of all gradients of an iteration before.
pipe.schedule @clipped of @step family<"pipemare"> clip(global)
// With a stage that two ranks share.
pipe.plan @shared of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @ln_f] on [1, 2]
}
pipe.schedule @replicas of @shared family<"pipemare">
pipe.schedule @clipped_replicas of @shared family<"pipedream"> clip(global)
