pipe.cluster @lab link<latency_ns = 1> {
  pipe.device @cpu0 <memory_bytes = 4096>
  pipe.device @cpu1 <memory_bytes = 4096>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2,
                           input_grad_frees_bytes = 1>
  pipe.layer @l1 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2,
                           input_grad_frees_bytes = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @pair of @step family<"kfkb", k = 2>
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] pipe.forward @s0[%i + 2] }
    pipe.for %i = 2 to 4 { pipe.input_grad @s0[%i] pipe.weight_grad @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] }
  }
}
