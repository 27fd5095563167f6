pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
}
pipe.cluster @pair {
  pipe.device @left
  pipe.device @right
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2, ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @three of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@ln_f] on 2
}
pipe.plan @two of @gpt on @pair microbatches(4) {
  pipe.stage @t0 [@wte] on 0
  pipe.stage @t1 [@h0, @h1, @ln_f] on 1
}
pipe.schedule @wide of @three family<"1f1b">
pipe.schedule @split of @three family<"zb-h1">
pipe.schedule @narrow of @two family<"kfkb", k = 2>
