// One cut of one model, for micro-batches of two sizes.
pipe.cluster @machine { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 8, hidden = 16, heads = 2,
                    ffn = 32, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @small of @gpt on @machine microbatches(8) samples(1) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.plan @large of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.plan @more of @gpt on @machine microbatches(8) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @lm_head] on 1
}
pipe.schedule @gpipe of @large family<"gpipe">
pipe.schedule @one_f_one_b of @large family<"1f1b">
pipe.schedule @fine of @small family<"1f1b">
pipe.schedule @other of @more family<"1f1b">
