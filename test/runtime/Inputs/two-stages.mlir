// Two stages on two ranks: timed layers with weights, one tensor each.
pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 4096>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 256, weight_bytes = 8192>
}
pipe.plan @p of @m on @two microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @pair of @p family<"1f1b">
