pipe.cluster @lab { pipe.device @a <memory_bytes = 3584>  pipe.device @b <memory_bytes = 1536> }
pipe.model @timed {
  pipe.layer @front synthetic<forward_ns = 3000000, input_grad_ns = 3000000, weight_grad_ns = 3000000, activation_bytes = 1024>
  pipe.layer @back  synthetic<forward_ns = 3000000, input_grad_ns = 3000000, weight_grad_ns = 3000000, activation_bytes = 1024> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@front] on 0  pipe.stage @s1 [@back] on 1 }
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
                pipe.for %i = 0 to 2 { pipe.input_grad @s0[%i]  pipe.forward @s0[%i + 2]  pipe.weight_grad @s0[%i] }
                pipe.for %i = 2 to 4 { pipe.input_grad @s0[%i]  pipe.weight_grad @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 4 { pipe.forward @s1[%i]  pipe.input_grad @s1[%i]  pipe.weight_grad @s1[%i] } } }
