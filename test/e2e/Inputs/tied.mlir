// Custom layers that share a matrix, in different stages and in one.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @mine gpt<vocab = 16, sequence = 8, hidden = 6, heads = 1, ffn = 1, batch = 2, tied = true> {
  pipe.layer @embed custom<body = "embed", data = tokens, weight_bytes = 408,
      saved_for_weight_grad_bytes = 64, kept_for_weight_grad_bytes = 384, output_bytes = 384>
  pipe.layer @unembed custom<body = "unembed", data = targets, loss = true, weight_bytes = 384,
      saved_for_weight_grad_bytes = 1408>
}
pipe.plan @apart of @mine on @machine microbatches(4) {
  pipe.stage @s0 [@embed] on 0
  pipe.stage @s1 [@unembed] on 1
}
pipe.plan @together of @mine on @machine microbatches(4) {
  pipe.stage @s0 [@embed, @unembed] on 0
}
pipe.schedule @one_f_one_b of @apart family<"1f1b">
pipe.schedule @zero_bubble of @apart family<"zb-h1">
pipe.schedule @one_stage of @together family<"gpipe">
