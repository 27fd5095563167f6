// The model of tiny-gpt.mlir in a V on two ranks: stages 0 and 3 share rank 0,
// stages 1 and 2 share rank 1.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(5) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 1
  pipe.stage @s3 [@ln_f] on 0
}
pipe.schedule @v of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 {
      pipe.forward @s3[%i]
      pipe.input_grad @s3[%i]
      pipe.weight_grad @s3[%i]
      pipe.forward @s0[%i + 2]
      pipe.backward @s0[%i]
    }
    pipe.for %i = 3 to 5 {
      pipe.forward @s3[%i]
      pipe.backward @s3[%i]
      pipe.backward @s0[%i]
    }
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    pipe.forward @s2[0]
    pipe.for %i = 0 to 4 {
      pipe.forward @s1[%i + 1]
      pipe.forward @s2[%i + 1]
      pipe.backward @s2[%i]
      pipe.backward @s1[%i]
    }
    pipe.backward @s2[4]
    pipe.backward @s1[4]
  }
}
