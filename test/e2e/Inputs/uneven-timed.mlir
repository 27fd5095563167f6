pipe.cluster @lab link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @c0
  pipe.device @c1
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [4000000, 1000000, 1000000], input_grad_ns = [4000000, 1000000, 1000000],
      weight_grad_ns = [4000000, 1000000, 1000000], activation_bytes = [40000, 10000, 10000], output_bytes = [4096, 1024, 100], weight_bytes = 256>
  pipe.layer @l1 synthetic<forward_ns = [4000000, 1000000, 1000000], input_grad_ns = [4000000, 1000000, 1000000],
      weight_grad_ns = [4000000, 1000000, 1000000], activation_bytes = [40000, 10000, 10000], output_bytes = 0, weight_bytes = 256>
}
pipe.plan @step of @timed on @lab microbatches(3) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @given of @step family<"1f1b">
pipe.schedule @searched of @step search<effort = 20>
