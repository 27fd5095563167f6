// Four stages on four ranks: timed layers with weights, so that a program for
// GPUs needs little time in emulation.
pipe.cluster @four { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 4096>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 4096>
  pipe.layer @l2 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 4096>
  pipe.layer @l3 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 4096>
}
pipe.plan @p of @m on @four microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
  pipe.stage @s3 [@l3] on 3
}
pipe.schedule @chain of @p family<"1f1b">
