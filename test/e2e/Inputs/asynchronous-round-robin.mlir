// One GPT whose iterations overlap, and whose stages assign whole micro-batches to their replicas.
pipe.cluster @machine link<latency_ns = 2000, bytes_per_us = 5000> {
  pipe.device @rank0 <memory_bytes = 8000000>
  pipe.device @rank1 <memory_bytes = 8000000>
  pipe.device @rank2 <memory_bytes = 8000000>
  pipe.device @rank3 <memory_bytes = 8000000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 2,
                    ffn = 64, batch = 2, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}

// Two pipelines, each with every other micro-batch.
pipe.plan @equal of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1] round_robin
  pipe.stage @back [@h1, @ln_f] on [2, 3] round_robin
}
pipe.schedule @square of @equal family<"pipedream">
pipe.schedule @square_timeprest of @equal family<"timeprest">

// The same versions for every micro-batch, on one rank a stage.
pipe.plan @single of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on 0
  pipe.stage @back [@h1, @ln_f] on 1
}
pipe.schedule @alone of @single versions<"pipedream"> {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @front[%i] }
    pipe.repeat %t {
      pipe.for %k = 0 to 4 step 2 {
        pipe.for %i = 0 to 2 { pipe.forward @front[%t * 4 + %k + %i + 2] }
        pipe.for %i = 0 to 2 { pipe.backward @front[%t * 4 + %k + %i] }
      }
      pipe.step @front[%t]
    }
  }
  pipe.rank 1 {
    pipe.repeat %t {
      pipe.for %i = 0 to 4 {
        pipe.forward @back[%t * 4 + %i]
        pipe.backward @back[%t * 4 + %i]
      }
      pipe.step @back[%t]
    }
  }
}

// A slow stage on two ranks feeds others.
pipe.plan @funnel of @gpt on @machine microbatches(6) {
  pipe.stage @front [@wte, @h0] on [0, 1] round_robin
  pipe.stage @middle [@h1] on 2
  pipe.stage @back [@ln_f] on 3
}
pipe.schedule @funnel_pipedream of @funnel family<"pipedream">
pipe.schedule @funnel_2bw of @funnel family<"2bw">
pipe.schedule @funnel_pipemare of @funnel family<"pipemare">
pipe.schedule @funnel_timeprest of @funnel family<"timeprest">
pipe.schedule @funnel_clipped of @funnel family<"pipedream"> clip(global)

// Shares of the samples become whole micro-batches; R makes activations again.
pipe.plan @from_shares of @gpt on @machine microbatches(4) {
  pipe.stage @front [@wte, @h0] on [0, 1]
  pipe.stage @back [@h1, @ln_f] on [3, 2] round_robin recompute
}
pipe.schedule @mixed of @from_shares family<"pipemare">

// By hand.
pipe.schedule @by_hand of @equal versions<forward = live, backward = live> {
  pipe.rank 0 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 { pipe.forward @front[%t * 4 + %i * 2] }
      pipe.for %i = 0 to 2 { pipe.backward @front[%t * 4 + %i * 2] }
      pipe.step @front[%t]
    }
  }
  pipe.rank 1 {
    pipe.forward @front[1]
    pipe.repeat %t {
      pipe.forward @front[%t * 4 + 3]
      pipe.for %i = 0 to 2 { pipe.backward @front[%t * 4 + %i * 2 + 1] }
      pipe.forward @front[%t * 4 + 5]
      pipe.step @front[%t]
    }
  }
  pipe.rank 2 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 {
        pipe.forward @back[%t * 4 + %i * 2]
        pipe.backward @back[%t * 4 + %i * 2]
      }
      pipe.step @back[%t]
    }
  }
  pipe.rank 3 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 {
        pipe.forward @back[%t * 4 + %i * 2 + 1]
        pipe.backward @back[%t * 4 + %i * 2 + 1]
      }
      pipe.step @back[%t]
    }
  }
}

// One replica runs a forward in front of the step, the other behind it.
pipe.plan @in_shares of @gpt on @machine microbatches(2) {
  pipe.stage @front [@wte, @h0] on [0, 1]
  pipe.stage @back [@h1, @ln_f] on 2
}
pipe.schedule @unlike of @in_shares versions<"pipemare"> {
  pipe.rank 0 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 { pipe.forward @front[%t * 2 + %i] }
      pipe.for %i = 0 to 2 { pipe.backward @front[%t * 2 + %i] }
      pipe.step @front[%t]
    }
  }
  pipe.rank 1 {
    pipe.forward @front[0]
    pipe.repeat %t {
      pipe.forward @front[%t * 2 + 1]
      pipe.for %i = 0 to 2 { pipe.backward @front[%t * 2 + %i] }
      pipe.forward @front[%t * 2 + 2]
      pipe.step @front[%t]
    }
  }
  pipe.rank 2 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 {
        pipe.forward @back[%t * 2 + %i]
        pipe.backward @back[%t * 2 + %i]
      }
      pipe.step @back[%t]
    }
  }
}
