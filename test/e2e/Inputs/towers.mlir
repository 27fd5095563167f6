// Two towers of two stages that meet in a fifth.
pipe.cluster @machine {
  pipe.device @rank0 <memory_bytes = 1048576>
  pipe.device @rank1 <memory_bytes = 1048576>
  pipe.device @rank2 <memory_bytes = 1048576>
}
pipe.model @model {
  pipe.layer @left_numbers custom<body = "source", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 384, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @left custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @right_numbers custom<body = "source", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 384, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @right custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @both custom<body = "blend", parameters = [96], weight_bytes = 384, saved_for_weight_grad_bytes = 768, output_bytes = 384> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 2000>
  pipe.layer @error custom<body = "squares", saved_for_input_grad_bytes = 384, workspace_bytes = 384, loss = true> costs<forward_ns = 2000, input_grad_ns = 2000, weight_grad_ns = 0>
}
pipe.plan @step of @model on @machine microbatches(5) {
  pipe.stage @left0 [@left_numbers] on 0
  pipe.stage @left1 [@left] on 1
  pipe.stage @right0 [@right_numbers] on 2 from []
  pipe.stage @right1 [@right] on 0
  pipe.stage @join [@both, @error] on 1 from [@left1, @right1]
}
pipe.schedule @all_forward of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 5 { pipe.forward @left0[%i]  pipe.forward @right1[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @right1[%i]  pipe.backward @left0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 5 { pipe.forward @left1[%i]  pipe.forward @join[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @join[%i]  pipe.backward @left1[%i] }
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 5 { pipe.forward @right0[%i] }
    pipe.for %i = 0 to 5 { pipe.backward @right0[%i] }
  }
}
pipe.schedule @searched of @step search<effort = 100>
pipe.schedule @one_by_one of @step {
  pipe.rank 0 { pipe.for %i = 0 to 5 { pipe.forward @left0[%i]  pipe.forward @right1[%i]  pipe.backward @right1[%i]  pipe.backward @left0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 5 { pipe.forward @left1[%i]  pipe.forward @join[%i]  pipe.backward @join[%i]  pipe.backward @left1[%i] } }
  pipe.rank 2 { pipe.for %i = 0 to 5 { pipe.forward @right0[%i]  pipe.backward @right0[%i] } }
}
