// Skip connections over one and two stages: three gradients meet at @s0.
pipe.cluster @machine {
  pipe.device @rank0 <memory_bytes = 1048576>
  pipe.device @rank1 <memory_bytes = 1048576>
  pipe.device @rank2 <memory_bytes = 1048576>
  pipe.device @rank3 <memory_bytes = 1048576>
}
pipe.model @model {
  pipe.layer @numbers custom<body = "source", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 384, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @a custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @b custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @c custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @error custom<body = "squares", saved_for_input_grad_bytes = 384, workspace_bytes = 384, loss = true> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 0>
}
pipe.plan @step of @model on @machine microbatches(6) {
  pipe.stage @s0 [@numbers] on 0
  pipe.stage @s1 [@a] on 1
  pipe.stage @s2 [@b] on 2 from [@s1, @s0]
  pipe.stage @s3 [@c, @error] on 3 from [@s2, @s0, @s1]
}
pipe.schedule @all_forward of @step family<"gpipe">
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 100>
pipe.schedule @by_hand of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 3 { pipe.input_grad @s0[%i]  pipe.forward @s0[%i + 3]  pipe.weight_grad @s0[%i] }
    pipe.for %i = 3 to 6 { pipe.input_grad @s0[%i]  pipe.weight_grad @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 4 { pipe.input_grad @s1[%i]  pipe.weight_grad @s1[%i]  pipe.forward @s1[%i + 2] }
    pipe.for %i = 4 to 6 { pipe.backward @s1[%i] }
  }
  pipe.rank 2 {
    pipe.forward @s2[0]
    pipe.for %i = 0 to 5 { pipe.backward @s2[%i]  pipe.forward @s2[%i + 1] }
    pipe.backward @s2[5]
  }
  pipe.rank 3 { pipe.for %i = 0 to 6 { pipe.forward @s3[%i]  pipe.backward @s3[%i] } }
}
