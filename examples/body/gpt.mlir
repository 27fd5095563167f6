// A small GPT with a custom layer, whose body is mlp.c in this folder.
pipe.cluster @machine {
  pipe.device @rank0 <flops_per_us = 10000>
  pipe.device @rank1 <flops_per_us = 10000>
}

pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @mlp custom<body = "mlp", parameters = [48],
                         weight_bytes = 12480,
                         saved_for_weight_grad_bytes = 10240,
                         kept_for_weight_grad_bytes = 10240,
                         output_bytes = 4096,
                         forward_flops = 196608, input_grad_flops = 196608,
                         weight_grad_flops = 196608>
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

pipe.plan @step of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@mlp, @h1, @ln_f] on 1
}

pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
