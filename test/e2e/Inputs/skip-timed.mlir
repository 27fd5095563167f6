// Timed layers; @s3 takes the outputs of three stages.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
}
pipe.model @model {
  pipe.layer @l0 synthetic<forward_ns = 200000, input_grad_ns = 200000, weight_grad_ns = 200000, activation_bytes = 256, input_grad_frees_bytes = 128, output_bytes = 1024, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 200000, input_grad_ns = 200000, weight_grad_ns = 200000, activation_bytes = 256, input_grad_frees_bytes = 128, output_bytes = 512, weight_bytes = 64>
  pipe.layer @l2 synthetic<forward_ns = 200000, input_grad_ns = 200000, weight_grad_ns = 200000, activation_bytes = 256, input_grad_frees_bytes = 128, output_bytes = 256, weight_bytes = 64>
  pipe.layer @l3 synthetic<forward_ns = 200000, input_grad_ns = 200000, weight_grad_ns = 200000, activation_bytes = 256, input_grad_frees_bytes = 128, weight_bytes = 64>
}
pipe.plan @step of @model on @machine microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2 from [@s1, @s0]
  pipe.stage @s3 [@l3] on 0 from [@s2, @s0, @s1]
}
pipe.schedule @searched of @step search<effort = 100>
