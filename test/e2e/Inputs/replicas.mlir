// One GPT cut in several ways, with stages that have several replicas. The edits of
// replicas.test and others move the replicas of its plans.
pipe.cluster @machine link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
  pipe.device @rank3
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

// Two stages with a replica on each of two ranks.
pipe.plan @equal of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1]
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @square of @equal family<"1f1b">
pipe.schedule @square_gpipe of @equal family<"gpipe">
pipe.schedule @square_zero_bubble of @equal family<"zb-h1">
pipe.schedule @square_searched of @equal search<effort = 20>

// The same replicas with micro-batches of half the size.
pipe.plan @equal_halves of @gpt on @machine microbatches(8) samples(2) {
  pipe.stage @front [@wte, @h0] on [0: 1, 1: 1]
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @finer of @equal_halves family<"zb-h1">

// The same stages without replicas: what the others are compared with.
pipe.plan @single of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on 0
  pipe.stage @back [@h1, @ln_f] on 1
}
pipe.schedule @alone of @single {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @front[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @front[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 { pipe.forward @back[%i] pipe.backward @back[%i] }
  }
}

// Unequal shares that do not end at the same samples.
pipe.plan @slanted of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0: 3, 1: 1]
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @uneven of @slanted family<"1f1b">

// From one replica to three and on to two, on the ranks of others.
pipe.plan @fan of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on [1: 1, 2: 1, 3: 2]
  pipe.stage @s2 [@h1, @ln_f] on [0: 2, 3: 2]
}
pipe.schedule @fanned of @fan search<effort = 20>

// Several stages on each rank, in a loop and in a V over groups of ranks.
pipe.plan @chunks of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1]
  pipe.stage @s1 [@h0] on [2, 3]
  pipe.stage @s2 [@h1] on [0, 1]
  pipe.stage @s3 [@ln_f] on [2, 3]
}
pipe.schedule @looped of @chunks family<"interleaved-1f1b">
pipe.plan @folded of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte] on [0: 3, 1: 1]
  pipe.stage @s1 [@h0] on [2: 2, 3: 2]
  pipe.stage @s2 [@h1] on [2: 2, 3: 2]
  pipe.stage @s3 [@ln_f] on [0: 3, 1: 1]
}
pipe.schedule @v of @folded family<"zbv">
