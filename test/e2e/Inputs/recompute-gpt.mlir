// A GPT whose stages can recompute all, some or none of their layers: tests edit
// the text after the ranks.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 131, sequence = 7, hidden = 12, heads = 3, ffn = 20, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(6) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @h2] on 1
  pipe.stage @s2 [@h3, @lm_head] on 2
}
pipe.schedule @gpipe of @step family<"gpipe">
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 200>
pipe.executable @train of [@gpipe, @one_f_one_b, @zero_bubble, @searched]
