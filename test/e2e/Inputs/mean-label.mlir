// The loss of an iteration is the mean label of its 24 samples.
pipe.cluster @machine {
  pipe.device @rank0
}
pipe.model @labels samples(8) {
  pipe.layer @mean custom<body = "mean_label", loss = true,
      streams = [data<name = "labels", dtype = int32, below = 1000>]>
}
pipe.plan @step of @labels on @machine microbatches(3) {
  pipe.stage @s0 [@mean] on 0
}
pipe.schedule @gpipe of @step family<"gpipe">
