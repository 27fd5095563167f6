// Custom layers that need no data: the first makes its own numbers.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @model {
  pipe.layer @numbers custom<body = "source", parameters = [64], weight_bytes = 256,
      saved_for_weight_grad_bytes = 256, output_bytes = 256> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @error custom<body = "squares", saved_for_input_grad_bytes = 256,
      workspace_bytes = 256, loss = true> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 0>
}
pipe.plan @step of @model on @machine microbatches(4) {
  pipe.stage @s0 [@numbers] on 0
  pipe.stage @s1 [@error] on 1
}
pipe.schedule @mine of @step family<"1f1b">
