// A small GPT on three ranks, and schedules whose iterations overlap.
pipe.cluster @lab link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @d0 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d1 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d2 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @d3 <memory_bytes = 268435456, flops_per_us = 40000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2, ffn = 64, batch = 2, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @head head
}
pipe.plan @step of @gpt on @lab microbatches(3) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@head] on 2
}
pipe.plan @wide of @gpt on @lab microbatches(2) {
  pipe.stage @w0 [@wte, @h0] on [0, 1]
  pipe.stage @w1 [@h1, @head] on [2, 3]
}
pipe.plan @light of @gpt on @lab microbatches(2) {
  pipe.stage @l0 [@wte, @h0] on 0
  pipe.stage @l1 [@h1] on 1 recompute
  pipe.stage @l2 [@head] on 2
}
pipe.plan @single of @gpt on @lab microbatches(1) {
  pipe.stage @a [@wte, @h0] on 0
  pipe.stage @b [@h1, @head] on 1
}
pipe.schedule @pipedream of @step family<"pipedream">
pipe.schedule @two of @step family<"2bw">
pipe.schedule @pipemare of @step family<"pipemare">
pipe.schedule @newest of @step family<"pipedream"> versions<forward = live, backward = live>
pipe.schedule @timeprest of @step family<"timeprest">
pipe.schedule @mixed of @step family<"pipedream">
    versions[<"pipedream">, <"pipemare">, <forward = live, backward = live>]
pipe.schedule @drained of @step family<"1f1b">
pipe.schedule @replicas of @wide family<"pipedream">
pipe.schedule @again of @light family<"pipedream">
pipe.schedule @anew of @light family<"timeprest"> versions[<"timeprest">, <"timeprest", activations = recompute>, <"timeprest">]
pipe.schedule @spread of @step family<"pipemare", spatial = 1>
// W waits for the next iteration's forward; two iterations differ.
pipe.schedule @hand of @single versions<"pipedream"> {
  pipe.rank 0 {
    pipe.forward @a[0]
    pipe.forward @a[1]
    pipe.repeat %t step 2 {
      pipe.input_grad @a[%t]
      pipe.forward @a[%t + 2]
      pipe.weight_grad @a[%t]
      pipe.step @a[%t]
      pipe.backward @a[%t + 1]
      pipe.step @a[%t + 1]
      pipe.forward @a[%t + 3]
    }
  }
  pipe.rank 1 {
    pipe.repeat %t step 2 {
      pipe.for %i = 0 to 2 {
        pipe.forward @b[%t + %i]
        pipe.backward @b[%t + %i]
        pipe.step @b[%t + %i]
      }
    }
  }
}

// As its program repeats every iteration, though it is written as two.
pipe.schedule @alike of @single versions<"pipedream"> {
  pipe.rank 0 {
    pipe.forward @a[0]
    pipe.forward @a[1]
    pipe.repeat %t step 2 {
      pipe.for %i = 0 to 2 {
        pipe.backward @a[%t + %i]
        pipe.step @a[%t + %i]
        pipe.forward @a[%t + %i + 2]
      }
    }
  }
  pipe.rank 1 {
    pipe.repeat %t step 2 {
      pipe.for %i = 0 to 2 {
        pipe.forward @b[%t + %i]
        pipe.backward @b[%t + %i]
        pipe.step @b[%t + %i]
      }
    }
  }
}
