// A GPT with two layers of a library as rondo.torch writes it, in fp32.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2> {
  pipe.layer @wte embedding
  pipe.layer @first custom<body = "mix", weight_bytes = 4096, saved_for_weight_grad_bytes = 4096,
                           kept_for_weight_grad_bytes = 4096, output_bytes = 4096, workspace_bytes = 69824>
  pipe.layer @h0 block
  pipe.layer @second custom<body = "mix", weight_bytes = 4096, saved_for_weight_grad_bytes = 4096,
                            kept_for_weight_grad_bytes = 4096, output_bytes = 4096, workspace_bytes = 69824>
  pipe.layer @ln_f head
}
pipe.plan @step of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @first] on 0
  pipe.stage @s1 [@h0, @second, @ln_f] on 1
}
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @one_f_one_b of @step family<"1f1b">
