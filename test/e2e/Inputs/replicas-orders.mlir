// Orders by hand for stages with several replicas, and a graph of such stages.
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
pipe.plan @three of @gpt on @machine microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on [0: 3, 1: 1]
  pipe.stage @s1 [@h1] on [2, 3]
  pipe.stage @s2 [@ln_f] on [2, 3]
}

// Steps at places of their own; replicas of a stage may take them in another order.
pipe.schedule @early of @three norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[%i] }
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[%i] }
    pipe.step @s0
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s1[%i] }
    pipe.step @s1
    pipe.step @s2
  }
  pipe.rank 3 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s1[%i] }
    pipe.step @s2
    pipe.step @s1
  }
  pipe.link_order 0 -> 2 { pipe.for %i = 0 to 4 { pipe.forward @s0[%i] } }
  pipe.link_order 3 -> 1 { pipe.for %i = 0 to 4 { pipe.backward @s1[%i] } }
}

// Gradients are added from the last micro-batch to the first.
pipe.schedule @backwards of @three accumulate(schedule_order) {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[3 - %i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[3 - %i] }
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s2[3 - %i] pipe.backward @s1[3 - %i] }
  }
  pipe.rank 3 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.forward @s2[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s2[3 - %i] pipe.backward @s1[3 - %i] }
  }
}

// One stage feeds three, which have other shares, and whose gradients it adds.
pipe.cluster @machines {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
  pipe.device @d4
  pipe.device @d5
  pipe.device @d6
}
pipe.model @two_towers {
  pipe.layer @a synthetic<forward_ns = 100000, input_grad_ns = 100000, weight_grad_ns = 100000, output_bytes = 103, activation_bytes = 77>
  pipe.layer @b synthetic<forward_ns = 100000, input_grad_ns = 100000, weight_grad_ns = 100000, output_bytes = 64, weight_bytes = 64>
  pipe.layer @b2 synthetic<forward_ns = 100000, input_grad_ns = 100000, weight_grad_ns = 100000, output_bytes = 64>
  pipe.layer @c synthetic<forward_ns = 100000, input_grad_ns = 100000, weight_grad_ns = 100000>
}
pipe.plan @towers of @two_towers on @machines microbatches(4) samples(6) {
  pipe.stage @left [@a] on [0: 1, 1: 5]
  pipe.stage @right [@b] on [2, 3] from [@left]
  pipe.stage @other [@b2] on [4] from [@left]
  pipe.stage @join [@c] on [5, 6] from [@left, @right, @other]
}
pipe.schedule @searched of @towers search<effort = 20>
pipe.schedule @gpipe of @towers family<"gpipe">
