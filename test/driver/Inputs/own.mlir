pipe.cluster @lab { pipe.device @d0 <memory_bytes = 8000> pipe.device @d1 <memory_bytes = 8000> }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 900, input_grad_ns = 900, weight_grad_ns = 900, activation_bytes = 960>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
  pipe.layer @l2 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
  pipe.layer @l3 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
  pipe.layer @l4 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
  pipe.layer @l5 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
  pipe.layer @l6 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 960>
}
pipe.plan @step of @m on @lab microbatches(8) {
  pipe.stage @s0 [@l0, @l1, @l2] on 0
  pipe.stage @s1 [@l3, @l4, @l5, @l6] on 1
}
