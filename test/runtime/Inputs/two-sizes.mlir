// Micro-batches of two sizes, so that an adaptive run switches at once.
pipe.cluster @machine { pipe.device @r0 pipe.device @r1 pipe.device @r2 pipe.device @r3 }
pipe.model @gpt gpt<vocab = 256, sequence = 8, hidden = 16, heads = 2, ffn = 32, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @small of @gpt on @machine microbatches(8) samples(1) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 2
  pipe.stage @s3 [@lm_head] on 3
}
pipe.plan @large of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 2
  pipe.stage @s3 [@lm_head] on 3
}
pipe.schedule @coarse of @large family<"1f1b">
pipe.schedule @fine of @small family<"1f1b">
