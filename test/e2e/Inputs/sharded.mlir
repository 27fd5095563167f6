// One model, its sharded state in several ways.
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
pipe.cluster @five link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
  pipe.device @d4
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 4,
                    ffn = 128, batch = 6, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

pipe.plan @whole of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @ln_f] on 1
}
pipe.schedule @alone of @whole family<"1f1b">

pipe.plan @weights of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h1, @ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @shards of @weights family<"1f1b">
pipe.schedule @each of @weights family<"zb-h1"> gathers<weights = 0, gradients = 0>
pipe.schedule @searched of @weights search<effort = 100>
// Written by hand: gathered twice, reduced in two units.
pipe.schedule @hand of @weights {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.unshard @s0[1]
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] pipe.forward @s0[%i + 2] }
    pipe.reduce_grad @s0[0]
    pipe.for %i = 2 to 4 { pipe.backward @s0[%i] }
    pipe.reshard @s0[1]
    pipe.reduce_grad @s0[1]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.unshard @s0[1]
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] pipe.forward @s0[%i + 2] }
    pipe.reduce_grad @s0[0]
    pipe.for %i = 2 to 4 { pipe.backward @s0[%i] }
    pipe.reshard @s0[1]
    pipe.reduce_grad @s0[1]
  }
  pipe.rank 2 {
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] }
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
  }
  pipe.rank 3 {
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] }
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
  }
}

pipe.plan @less of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0, 1] sharded<optimizer>
  pipe.stage @s1 [@h1, @ln_f] on [2, 3] sharded<gradients>
}
pipe.schedule @mixed of @less family<"1f1b">

// Chunks: two stages a rank.
pipe.plan @chunks of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h0] on [2, 3] sharded<weights>
  pipe.stage @s2 [@h1] on [0, 1] sharded<weights>
  pipe.stage @s3 [@ln_f] on [2, 3] sharded<weights>
}
pipe.schedule @units of @chunks family<"blockwise", u = 2>
pipe.schedule @breadth of @chunks family<"blockwise", u = 4> gathers<weights = 1>

// Three uneven shards next to a stage that is whole; and two groups of two.
pipe.plan @three of @gpt on @four microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0: 3, 1: 2, 2: 1] sharded<weights>
  pipe.stage @s1 [@h1, @ln_f] on 3
}
pipe.schedule @thirds of @three family<"1f1b">

pipe.plan @groups of @gpt on @five microbatches(4) samples(8) {
  pipe.stage @s0 [@wte, @h0] on [0, 1, 2, 3] sharded<weights, shards = 2>
  pipe.stage @s1 [@h1, @ln_f] on 4
}
pipe.schedule @hybrid of @groups family<"1f1b">
