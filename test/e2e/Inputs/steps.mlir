// Two stages a rank, whose ends share a weight.
pipe.cluster @machine link<latency_ns = 2000> { pipe.device @r0 pipe.device @r1 }
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(3) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
// All gradients are clipped, so every step waits for all of them.
pipe.schedule @clipped of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.input_grad @s3[%i] pipe.weight_grad @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
    pipe.step @s3
    pipe.step @s0[0]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
    pipe.step @s1
    pipe.step @s2
  }
}
// Stage 2 steps while stage 1 has yet to run its backwards.
pipe.schedule @early of @step norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.input_grad @s3[%i] pipe.weight_grad @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
    pipe.step @s3
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.step @s2
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}
// Its steps stand where its program puts them.
pipe.schedule @free of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.forward @s3[%i] pipe.backward @s3[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 3 { pipe.backward @s1[%i] }
  }
}
// Both copies of the shared weight are in one stage.
pipe.cluster @alone { pipe.device @r0 }
pipe.plan @whole of @gpt on @alone microbatches(3) { pipe.stage @all [@wte, @h0, @h1, @ln_f] on 0 }
pipe.schedule @one_stage of @whole family<"1f1b"> norm(none)
