// One GPT whose stages assign whole micro-batches to their replicas, in several ways.
pipe.cluster @machine link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0
  pipe.device @rank1
  pipe.device @rank2
  pipe.device @rank3
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

// The reference of the others.
pipe.plan @single of @gpt on @machine microbatches(8) {
  pipe.stage @front [@wte, @h0] on 0
  pipe.stage @back [@h1, @ln_f] on 1
}
pipe.schedule @alone of @single {
  pipe.rank 0 {
    pipe.for %i = 0 to 8 { pipe.forward @front[%i] }
    pipe.for %i = 0 to 8 { pipe.backward @front[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 8 { pipe.forward @back[%i] pipe.backward @back[%i] }
  }
}

// Two pipelines, each with every other micro-batch.
pipe.plan @equal of @gpt on @machine microbatches(8) {
  pipe.stage @front [@wte, @h0] on [0, 1] round_robin
  pipe.stage @back [@h1, @ln_f] on [2, 3] round_robin
}
pipe.schedule @square of @equal family<"1f1b">
pipe.schedule @square_zero_bubble of @equal family<"zb-h1">
pipe.schedule @square_searched of @equal search<effort = 20>

// A slow stage on three ranks feeds one; 8 micro-batches are not equally many.
pipe.plan @funnel of @gpt on @machine microbatches(8) {
  pipe.stage @front [@wte, @h0] on [0, 1, 2] round_robin recompute
  pipe.stage @back [@h1, @ln_f] on 3
}
pipe.schedule @many_to_one of @funnel family<"1f1b">

// Whole micro-batches become shares of the samples, and the other way round.
pipe.plan @both_ways of @gpt on @machine microbatches(8) {
  pipe.stage @front [@wte, @h0] on [0, 1] round_robin
  pipe.stage @back [@h1, @ln_f] on [2, 3]
}
pipe.schedule @to_shares of @both_ways family<"zb-h1">
pipe.plan @other_way of @gpt on @machine microbatches(8) {
  pipe.stage @front [@wte, @h0] on [0, 1]
  pipe.stage @back [@h1, @ln_f] on [3, 2] round_robin recompute [@h1]
}
pipe.schedule @from_shares of @other_way family<"gpipe">

// On ranks that form no groups.
pipe.plan @crossed of @gpt on @machine microbatches(8) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] round_robin
  pipe.stage @s1 [@h1] on [3, 2] round_robin
  pipe.stage @s2 [@ln_f] on [1, 3] round_robin
}
pipe.schedule @knotted of @crossed search<effort = 20>

// Two stages a rank.
pipe.plan @chunks of @gpt on @machine microbatches(8) {
  pipe.stage @s0 [@wte] on [0, 1] round_robin
  pipe.stage @s1 [@h0] on [2, 3] round_robin
  pipe.stage @s2 [@h1] on [0, 1] round_robin
  pipe.stage @s3 [@ln_f] on [2, 3] round_robin
}
pipe.schedule @looped of @chunks family<"interleaved-1f1b">
