// A GPT on four ranks whose stages recompute in two segments: the first of each
// from its input, the other from what the first has recomputed.
pipe.cluster @lab link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @d0 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d1 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d2 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d3 <memory_bytes = 268435456, flops_per_us = 40000>
}
pipe.model @gpt gpt<vocab = 131, sequence = 16, hidden = 32, heads = 2, ffn = 64, batch = 2, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @head head
}
pipe.plan @step of @gpt on @lab microbatches(6) {
  pipe.stage @s0 [@wte, @h0] on 0 recompute
  pipe.stage @s1 [@h1] on 1 recompute across
  pipe.stage @s2 [@h2] on 2 recompute
  pipe.stage @s3 [@h3, @head] on 3 recompute across
}
pipe.plan @chunks of @gpt on @lab microbatches(4) {
  pipe.stage @c0 [@wte] on 0 recompute
  pipe.stage @c1 [@h0] on 1 recompute across
  pipe.stage @c2 [@h1] on 1 recompute across
  pipe.stage @c3 [@h2] on 0 recompute across
  pipe.stage @c4 [@h3] on 2 recompute across
  pipe.stage @c5 [@head] on 2
}
pipe.plan @looped of @gpt on @lab microbatches(4) {
  pipe.stage @l0 [@wte] on 0 recompute
  pipe.stage @l1 [@h0, @h1] on 1 recompute across
  pipe.stage @l2 [@h2] on 0 recompute across
  pipe.stage @l3 [@h3, @head] on 1 recompute across
}
pipe.plan @folded of @gpt on @lab microbatches(4) {
  pipe.stage @f0 [@wte] on 0 recompute
  pipe.stage @f1 [@h0, @h1] on 1 recompute across
  pipe.stage @f2 [@h2] on 1 recompute across
  pipe.stage @f3 [@h3, @head] on 0 recompute across
}
pipe.schedule @interleaved of @looped family<"interleaved-1f1b">
pipe.schedule @interleaved_zb of @looped family<"interleaved-zb">
pipe.schedule @blockwise of @looped family<"blockwise">
pipe.schedule @zbv of @folded family<"zbv">
pipe.schedule @v_half of @folded family<"v-half">
pipe.schedule @one_f_one_b of @step family<"1f1b">
pipe.schedule @gpipe of @step family<"gpipe">
pipe.schedule @zero_bubble of @step family<"zb-h1">
pipe.schedule @searched of @step search<effort = 200>
pipe.schedule @graph of @step family<"pipemare">
pipe.schedule @live of @step family<"pipemare"> versions<forward = live, backward = live, activations = live>
pipe.schedule @moved of @step family<"pipemare"> versions<forward = live, backward = extrapolated, activations = extrapolated>
pipe.schedule @back of @step family<"pipedream"> versions<forward = live, backward = stashed, activations = recompute>
pipe.schedule @spread of @step family<"pipemare", spatial = 1> versions<forward = live, backward = extrapolated, activations = live>
pipe.schedule @stashed of @step family<"pipedream">
pipe.schedule @whole of @step family<"timeprest">
pipe.schedule @hand of @chunks {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 {
      pipe.forward @c0[%i]
      pipe.forward @c3[%i]
      pipe.recompute @c0[%i]
      pipe.recompute @c3[%i]
      pipe.backward @c3[%i]
      pipe.backward @c0[%i]
    }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 {
      pipe.forward @c1[%i]
      pipe.forward @c2[%i]
      pipe.recompute @c1[%i]
      pipe.recompute @c2[%i]
      pipe.backward @c2[%i]
      pipe.backward @c1[%i]
    }
  }
  pipe.rank 2 {
    pipe.for %i = 0 to 4 {
      pipe.forward @c4[%i]
      pipe.forward @c5[%i]
      pipe.recompute @c4[%i]
      pipe.backward @c5[%i]
      pipe.backward @c4[%i]
    }
  }
}
