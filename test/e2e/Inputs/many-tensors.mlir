// 20 tensors of 3 dimensions, of which one is frozen.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @mine {
  pipe.layer @many custom<body = "many", parameters = [20], weight_bytes = 2560,
      saved_for_weight_grad_bytes = 96, output_bytes = 96, tensors = 20, frozen_weight_bytes = 128>
  pipe.layer @target custom<body = "target", saved_for_input_grad_bytes = 96, loss = true>
}
pipe.plan @step of @mine on @machine microbatches(4) {
  pipe.stage @s0 [@many] on 0
  pipe.stage @s1 [@target] on 1
}
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
