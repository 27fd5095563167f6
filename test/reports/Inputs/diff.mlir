pipe.model @two {
  pipe.layer @a synthetic<forward_ns = 10000, input_grad_ns = 10000, weight_grad_ns = 10000, activation_bytes = 64, output_bytes = 64>
  pipe.layer @b synthetic<forward_ns = 10000, input_grad_ns = 10000, weight_grad_ns = 10000, activation_bytes = 64>
}
pipe.cluster @pair {
  pipe.device @d0
  pipe.device @d1
  pipe.link @d0 -> @d1 <latency_ns = 5000>
  pipe.link @d1 -> @d0 <latency_ns = 5000>
}
pipe.plan @step of @two on @pair microbatches(1) {
  pipe.stage @s0 [@a] on 0
  pipe.stage @s1 [@b] on 1
}
pipe.schedule @main of @step family<"1f1b">
pipe.schedule @other of @step family<"gpipe">
