// Every layer but one is custom.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
}
pipe.model @model gpt<vocab = 256, sequence = 8, hidden = 16, heads = 2, ffn = 32, batch = 2> {
  pipe.layer @table custom<body = "embed", weight_bytes = 16384,
      saved_for_weight_grad_bytes = 1088, output_bytes = 1024, data = tokens>
  pipe.layer @norm custom<body = "rms_norm", weight_bytes = 64,
      saved_for_input_grad_bytes = 64, saved_for_weight_grad_bytes = 2048,
      output_bytes = 1024>
  pipe.layer @h0 block
  pipe.layer @mlp custom<body = "mlp", parameters = [24], weight_bytes = 3200,
      saved_for_weight_grad_bytes = 2560, kept_for_weight_grad_bytes = 2560,
      output_bytes = 1024>
  pipe.layer @last custom<body = "classify", weight_bytes = 16384,
      saved_for_weight_grad_bytes = 17408, data = targets, loss = true>
}
pipe.plan @step of @model on @machine microbatches(5) {
  pipe.stage @s0 [@table, @norm] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@mlp, @last] on 2
}
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
