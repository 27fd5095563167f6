// A model of images and labels, whose bodies are classify.c in this folder.
pipe.cluster @machine {
  pipe.device @rank0 <flops_per_us = 10000>
  pipe.device @rank1 <flops_per_us = 10000>
}

pipe.model @shapes samples(8) {
  pipe.layer @project custom<body = "project", parameters = [24],
                             weight_bytes = 3584,
                             saved_for_weight_grad_bytes = 1920,
                             output_bytes = 768,
                             forward_flops = 13824, weight_grad_flops = 13824,
                             streams = [data<name = "images", dtype = fp32, sizes = [6, 6]>]>
  pipe.layer @classify custom<body = "classify", parameters = [24],
                              weight_bytes = 384,
                              saved_for_weight_grad_bytes = 896, loss = true,
                              forward_flops = 1536, input_grad_flops = 1536,
                              weight_grad_flops = 1536,
                              streams = [data<name = "labels", dtype = int32, below = 4, ignored = -100>]>
}

pipe.plan @step of @shapes on @machine microbatches(4) {
  pipe.stage @s0 [@project] on 0
  pipe.stage @s1 [@classify] on 1
}

pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @zero_bubble of @step family<"zb-h1">
