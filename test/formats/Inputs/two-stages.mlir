pipe.model @two {
  pipe.layer @a synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @b synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.cluster @pair {
  pipe.device @d0
  pipe.device @d1
}
pipe.plan @step of @two on @pair microbatches(1) {
  pipe.stage @s0 [@a] on 0
  pipe.stage @s1 [@b] on 1
}
