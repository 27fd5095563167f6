// Four ranks with room for all of six micro-batches but not of sixteen.
pipe.cluster @lab link<latency_ns = 10000, bytes_per_us = 10000> {
  pipe.device @gpu0 <memory_bytes = 9000000>
  pipe.device @gpu1 <memory_bytes = 9000000>
  pipe.device @gpu2 <memory_bytes = 9000000>
  pipe.device @gpu3 <memory_bytes = 9000000>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000, activation_bytes = 1000000, output_bytes = 100000>
  pipe.layer @l1 synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000, activation_bytes = 1000000, output_bytes = 100000>
  pipe.layer @l2 synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000, activation_bytes = 1000000, output_bytes = 100000>
  pipe.layer @l3 synthetic<forward_ns = 1000000, input_grad_ns = 1000000, weight_grad_ns = 1000000, activation_bytes = 1000000, output_bytes = 100000>
}
pipe.plan @step of @timed on @lab microbatches(16) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
  pipe.stage @s3 [@l3] on 3
}
pipe.schedule @main of @step family<"1f1b">
pipe.schedule @zero of @step family<"zb-h1">
