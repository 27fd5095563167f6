// A GPT whose layer in the middle is examples/body/mlp.c, with its sizes for 1
// to 4 samples; they are not in proportion, since 25 numbers a row are rounded
// up. Its stage on one rank and on several, whole and sharded.
pipe.cluster @two link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0
  pipe.device @d1
}
pipe.cluster @four link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
}
pipe.model @gpt gpt<vocab = 256, sequence = 8, hidden = 16, heads = 2,
                    ffn = 32, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @mlp custom<body = "mlp", parameters = [25],
                         samples = [1, 2, 3, 4], by_sample = true,
                         weight_bytes = 3328,
                         saved_for_weight_grad_bytes = [1344, 2624, 3968, 5248],
                         kept_for_weight_grad_bytes = [1344, 2624, 3968, 5248],
                         output_bytes = [512, 1024, 1536, 2048],
                         forward_flops = [12800, 25600, 38400, 51200],
                         input_grad_flops = [12800, 25600, 38400, 51200],
                         weight_grad_flops = [12800, 25600, 38400, 51200]>
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

pipe.plan @whole of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@mlp, @h1, @ln_f] on 1
}
pipe.schedule @alone of @whole family<"1f1b">

// The same samples in micro-batches of other sizes, in one executable too.
pipe.plan @small of @gpt on @two microbatches(16) samples(1) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@mlp, @h1, @ln_f] on 1
}
pipe.schedule @ones of @small family<"zb-h1">
pipe.plan @pairs of @gpt on @two microbatches(8) samples(2) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@mlp, @h1, @ln_f] on 1
}
pipe.schedule @twos of @pairs family<"1f1b">

pipe.plan @replicas of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@mlp] on [1, 2]
  pipe.stage @s2 [@h1, @ln_f] on 3
}
pipe.schedule @halves of @replicas family<"1f1b">
pipe.plan @unequal of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0: 3, 1: 1]
  pipe.stage @s1 [@mlp, @h1, @ln_f] on [2: 1, 3: 3]
}
pipe.schedule @shares of @unequal family<"1f1b">

pipe.plan @copies of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1]
  pipe.stage @s1 [@mlp, @h1, @ln_f] on [2, 3]
}
pipe.schedule @unsharded of @copies family<"1f1b">
pipe.plan @moments of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<optimizer>
  pipe.stage @s1 [@mlp, @h1, @ln_f] on [2, 3] sharded<optimizer>
}
pipe.schedule @zero1 of @moments family<"1f1b">
pipe.plan @gradients of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<gradients>
  pipe.stage @s1 [@mlp, @h1, @ln_f] on [2, 3] sharded<gradients>
}
pipe.schedule @zero2 of @gradients family<"zb-h1">
pipe.plan @weights of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@mlp, @h1, @ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @zero3 of @weights family<"1f1b">
