// A GPT that trains very quickly: three ranks, five micro-batches, tied head.
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
pipe.plan @step of @gpt on @machine microbatches(5) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@ln_f] on 2
}
pipe.schedule @gpipe of @step family<"gpipe">
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @two_f_two_b of @step family<"kfkb", k = 2>
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @by_hand of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 5 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 5 { pipe.input_grad @s0[%i] }
    pipe.for %i = 0 to 5 { pipe.weight_grad @s0[%i] }
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    pipe.for %i = 0 to 4 {
      pipe.forward @s1[%i + 1]
      pipe.backward @s1[%i]
    }
    pipe.backward @s1[4]
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 5 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
  }
}
// Gradients are added from the last micro-batch to the first.
pipe.schedule @backwards of @step accumulate(schedule_order) {
  pipe.rank 0 {
    pipe.for %i = 0 to 5 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @s0[%i * -1 + 4] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 5 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @s1[%i * -1 + 4] }
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 5 { pipe.forward @s2[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @s2[%i * -1 + 4] }
  }
}
