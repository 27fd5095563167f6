// A GPT with a layer whose body runs on the CPU and on CUDA. Sizes are of fp32.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @scale custom<body = "scale", weight_bytes = 128,
      saved_for_weight_grad_bytes = 4096, kept_for_weight_grad_bytes = 4096,
      output_bytes = 4096>
  pipe.layer @h0 block
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @scale] on 0
  pipe.stage @s1 [@h0, @ln_f] on 1
}
pipe.schedule @zero_bubble of @step family<"zb-h1">
