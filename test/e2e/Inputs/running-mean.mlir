// A layer whose F replaces a tensor, the running mean of what it reads.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @mine samples(8) {
  pipe.layer @scale custom<body = "scale", weight_bytes = 128, saved_for_weight_grad_bytes = 32,
      kept_for_weight_grad_bytes = 32, output_bytes = 32, frozen_weight_bytes = 64,
      streams = [data<name = "values", dtype = fp32>]>
  pipe.layer @square custom<body = "square", saved_for_input_grad_bytes = 32, loss = true>
}
pipe.plan @step of @mine on @machine microbatches(4) {
  pipe.stage @s0 [@scale] on 0
  pipe.stage @s1 [@square] on 1
}
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
