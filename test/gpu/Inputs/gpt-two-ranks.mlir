// The model of examples/gpt-small.mlir in two stages, for machines with two
// GPUs. Its losses equal those with four.

pipe.cluster @pair {
  pipe.device @gpu0
  pipe.device @gpu1
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

pipe.plan @step of @gpt on @pair microbatches(8) {
  pipe.stage @s0 [@wte, @h0, @h1] on 0
  pipe.stage @s1 [@h2, @h3, @ln_f] on 1
}

pipe.schedule @one_f_one_b of @step family<"1f1b">
