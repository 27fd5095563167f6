// Layers that read three streams, and a frozen tensor.
pipe.cluster @machine {
  pipe.device @rank0
  pipe.device @rank1
}
pipe.model @points samples(5) {
  pipe.layer @mix custom<body = "mix", weight_bytes = 128, saved_for_weight_grad_bytes = 80, output_bytes = 80,
      streams = [data<name = "points", dtype = fp32, sizes = [2, 2]>, data<name = "shift", dtype = uint8, below = 2>],
      frozen_weight_bytes = 64>
  pipe.layer @near custom<body = "near", saved_for_input_grad_bytes = 80, loss = true,
      streams = [data<name = "labels", dtype = int32, below = 3>]>
}
pipe.plan @step of @points on @machine microbatches(4) {
  pipe.stage @s0 [@mix] on 0
  pipe.stage @s1 [@near] on 1
}
pipe.schedule @one_f_one_b of @step family<"1f1b">
