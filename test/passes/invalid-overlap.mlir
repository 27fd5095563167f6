// Rules that orders break whose iterations overlap.
// RUN: rondo-opt %s --pipe-schedule -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{this is the plan; `rondo search FILE --iterations 12 --policy 2bw -o OUT.mlir` orders any stages}}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+1 {{family '2bw' does not apply: 2bw keeps two versions, which needs as many micro-batches an iteration as stages; there is 1 micro-batch for 2 stages}}
pipe.schedule @few of @step family<"2bw">

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{this is the plan}}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+1 {{family '1f1b' does not apply: 1f1b drains the pipeline in each iteration}}
pipe.schedule @drains of @step family<"1f1b"> versions<"pipedream">

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+1 {{the schedule lists 3 policies of versions; its plan has 2 stages: one policy for all, or one for each}}
pipe.schedule @three of @step family<"pipedream"> versions[<"pipedream">, <"pipedream">, <"pipedream">]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// One forward ahead of the backward, and so an update late.
pipe.schedule @late of @step versions<"pipedream", most_delay = 0> {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.repeat %t {
      // expected-error @+1 {{0F1 at position 1 of rank 0 reads version 0 of its weights, 1 update behind; its stage allows 0. What helps: its stage's steps earlier in the order, a larger most_delay, or another policy of versions [S8]}}
      pipe.forward @s0[%t + 1]
      pipe.backward @s0[%t]
      pipe.step @s0[%t]
    }
  }
  pipe.rank 1 {
    pipe.repeat %t {
      pipe.forward @s1[%t]
      pipe.backward @s1[%t]
      pipe.step @s1[%t]
    }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @+1 {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1
}
// The second micro-batch of each iteration is missing on rank 1.
pipe.schedule @missing of @step versions<"pipedream"> {
  pipe.rank 0 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 { pipe.forward @s0[%t * 2 + %i] }
      pipe.for %i = 0 to 2 { pipe.backward @s0[%t * 2 + %i] }
      pipe.step @s0[%t]
    }
  }
  // expected-error @+1 {{1F1 is missing on rank 1, and so are 11 other tasks [S1]}}
  pipe.rank 1 {
    pipe.repeat %t {
      pipe.forward @s1[%t * 2]
      pipe.backward @s1[%t * 2]
      pipe.step @s1[%t]
    }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// Rank 1 begins an iteration before it ends the one that rank 0 waits for.
pipe.schedule @circle of @step versions<"pipedream"> {
  // expected-error @+1 {{rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F1 of rank 0 at 1F1 [S4]}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.repeat %t {
      // expected-note @+1 {{rank 0 waits at 0B0 for 1B0 of rank 1}}
      pipe.backward @s0[%t]
      pipe.step @s0[%t]
      pipe.forward @s0[%t + 1]
    }
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    pipe.repeat %t {
      // expected-note @+1 {{rank 1 waits at 1F1 for 0F1 of rank 0}}
      pipe.forward @s1[%t + 1]
      pipe.backward @s1[%t]
      pipe.step @s1[%t]
    }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+1 {{stage @s0 is to make its activations again, but keeps them; write recompute after its ranks}}
pipe.schedule @again of @step family<"timeprest"> versions<"timeprest", activations = recompute>

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{the order of @far begins 50001 iterations before it ends the first; it may begin 4096}}
pipe.schedule @far of @step versions<"pipedream"> {
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t * 2 + 100001] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @far of @step versions<"pipedream"> {
  // expected-error @+1 {{micro-batch 1000000000 is too far ahead; an order begins with numbers below 16777216}}
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t * 2 + 1000000000] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @before of @step versions<"pipedream"> {
  // expected-error @+1 {{step -1 does not exist; steps are numbered from 0}}
  pipe.rank 0 { pipe.repeat %t { pipe.step @s0[%t - 1] } }
}

// -----

// A rank without an order.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @+1 {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+2 {{1F0 is missing on rank 1, and so are}}
// expected-note @+1 {{schedule @s has no pipe.rank 1; write the order of that rank}}
pipe.schedule @s of @step versions<"pipedream"> {
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] pipe.backward @s0[%t] pipe.step @s0[%t] } }
}
