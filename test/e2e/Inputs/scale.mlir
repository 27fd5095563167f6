// A GPT with a layer whose body runs on the CPU and on CUDA. Sizes are of fp32.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.cluster @four {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
  pipe.device @rank3
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @scale custom<body = "scale", samples = [1, 2], by_sample = true,
      weight_bytes = 128, saved_for_weight_grad_bytes = [2048, 4096],
      kept_for_weight_grad_bytes = [2048, 4096], output_bytes = [2048, 4096]>
  pipe.layer @h0 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @scale] on 0
  pipe.stage @s1 [@h0, @ln_f] on 1
}
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.plan @sharded of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1] sharded<weights>
  pipe.stage @s1 [@scale, @h0, @ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @zero3 of @sharded family<"1f1b">
