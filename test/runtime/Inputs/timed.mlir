pipe.cluster @lab {
  pipe.device @cpu0
  pipe.device @cpu1
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 2000000, input_grad_ns = 2000000, weight_grad_ns = 2000000,
                           activation_bytes = 256, input_grad_frees_bytes = 128, output_bytes = 64, weight_bytes = 128>
  pipe.layer @l1 synthetic<forward_ns = 2000000, input_grad_ns = 2000000, weight_grad_ns = 2000000,
                           activation_bytes = 256, input_grad_frees_bytes = 128, output_bytes = 0, weight_bytes = 128>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">
