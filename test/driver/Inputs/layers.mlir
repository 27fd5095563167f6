pipe.cluster @lab link<latency_ns = 5000> {
  pipe.device @d0 <memory_bytes = 1100>
  pipe.device @d1 <memory_bytes = 1100>
  pipe.device @d2 <memory_bytes = 1100>
  pipe.device @d3 <memory_bytes = 1100>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l2 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l3 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l4 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l5 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l6 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
  pipe.layer @l7 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1, @l2, @l3, @l4, @l5] on 1
  pipe.stage @s2 [@l6] on 2
  pipe.stage @s3 [@l7] on 3
}
