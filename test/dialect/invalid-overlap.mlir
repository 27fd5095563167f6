// Errors of iterations that overlap, if one op shows them.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{there is no policy 'pipedrem'; there are synchronous, pipedream, 2bw, pipemare, timeprest; did you mean pipedream?}}
pipe.schedule @s of @p family<"pipedream"> versions<"pipedrem">

// -----

// expected-error @+1 {{expected one of live, vertical, minibatch, stashed, not 'lively'; did you mean live?}}
pipe.schedule @s of @p family<"pipedream"> versions<forward = lively>

// -----

// expected-error @+1 {{unknown key 'foreward'; there are forward, backward, activations, most_delay}}
pipe.schedule @s of @p family<"pipedream"> versions<foreward = live>

// -----

// expected-error @+1 {{'forward' is given twice}}
pipe.schedule @s of @p family<"pipedream"> versions<forward = live, forward = live>

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{a search orders one iteration; leave out the versions, or write a family or a body}}
pipe.schedule @s of @step search<objective = makespan> versions<"pipedream">

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step {
  pipe.rank 0 {
    // expected-error @+1 {{pipe.repeat is for iterations that overlap; add versions<...> to schedule @s}}
    pipe.repeat %t { pipe.forward @s0[%t] }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step versions<"pipedream"> {
  pipe.rank 0 {
    // expected-error @+1 {{pipe.repeat goes on to the end of the run, so it is the last op of its rank}}
    pipe.repeat %t { pipe.forward @s0[%t] }
    pipe.backward @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @s of @step versions<"pipedream"> {
  // expected-note @+1 {{this is the other}}
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] } }
  // expected-error @+1 {{each repetition adds 2 iterations here, but 1 on rank 0; all ranks repeat the same iterations}}
  pipe.rank 1 { pipe.repeat %t step 2 { pipe.forward @s1[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step versions<"pipedream"> {
  // expected-error @+1 {{each repetition adds 0 iterations; it must be 1 to 16777216}}
  pipe.rank 0 { pipe.repeat %t step 0 { pipe.forward @s0[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step versions<"pipedream"> {
  // expected-error @+1 {{a backward serves 256 micro-batches; it must be 1 to 255}}
  pipe.rank 0 { pipe.repeat %t { pipe.backward @s0[%t * 4] count(256) } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step {
  // expected-error @+1 {{an iteration has one step, number 0; steps are numbered where iterations overlap, which versions<...> says}}
  pipe.rank 0 { pipe.for %i = 0 to 4 { pipe.step @s0[%i] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @s of @step versions<"pipedream"> {
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] } }
  // expected-error @+1 {{where iterations overlap, links carry messages in the order in which they become ready}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{clip(global) is for iterations that overlap; others clip by the norm of all gradients unless they say norm(none)}}
pipe.schedule @s of @step family<"1f1b"> clip(global)

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{norm(none) leaves out the norm that clip(global) asks for; leave out one of them}}
pipe.schedule @s of @step family<"pipedream"> norm(none) clip(global)

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{norm(none) leaves out the norm of all gradients, but iterations of @s overlap, so each stage clips by the norm of its own gradients; leave out norm(none), and run the program with --clip 0 to clip nothing}}
pipe.schedule @s of @step family<"pipedream"> norm(none)

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{norm(none) leaves out the norm of all gradients, but iterations of @s overlap}}
pipe.schedule @s of @step versions<"2bw"> norm(none) {
  pipe.rank 0 { pipe.repeat %t { pipe.for %i = 0 to 4 { pipe.forward @s0[%t * 4 + %i] pipe.backward @s0[%t * 4 + %i] } pipe.step @s0[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step family<"pipedream">
pipe.program @lowered of @s pipeline {
  // expected-error @+1 {{collective @c0 adds gradients, which the step of the same iteration reads; only a gradient_norm may be later}}
  pipe.collective @c0 replica_gradients [@s0] later = 1
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step family<"pipedream">
pipe.program @lowered of @s pipeline {
  // expected-error @+1 {{collective @c0 is awaited 4097 iterations later; it must be 0 to 4096}}
  pipe.collective @c0 gradient_norm [@s0] later = 4097
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{claims are of versions and delays, which only iterations that overlap have}}
pipe.schedule @s of @step family<"1f1b"> claims<copies = [1]>

// -----

// expected-error @+1 {{unknown key 'copy'; the keys are copies, forward_delay, backward_delay, recompute_delay, norm_delay}}
pipe.schedule @s of @p family<"pipedream"> claims<copy = [1]>

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
pipe.schedule @s of @step versions<"pipedream"> {
  // expected-note @+1 {{this is the other}}
  pipe.rank 0 { pipe.repeat %t step 2 { pipe.forward @s0[%t] } }
  // expected-error @+1 {{each repetition adds 1 iteration here, but 2 on rank 0}}
  pipe.rank 1 { pipe.repeat %t { pipe.forward @s1[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step versions<"pipedream"> {
  // expected-error @+1 {{rank 0 has no pipe.repeat, so its order ends, but iterations of @s overlap, and a run has any number of them: put what each iteration adds into a pipe.repeat at the end of the rank, or leave out versions<...>}}
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.step @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{claims<> claims nothing: name copies, forward_delay, backward_delay, recompute_delay or norm_delay, or leave it out}}
pipe.schedule @s of @step family<"pipedream"> claims<>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @s of @step family<"pipedream">
pipe.program @p of @s pipeline {
  // expected-note @+1 {{this is the other}}
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] } }
  // expected-error @+1 {{each repetition adds 2 iterations here, but 1 on rank 0; all ranks repeat the same iterations}}
  pipe.rank 1 { pipe.repeat %t step 2 { pipe.forward @s1[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step family<"1f1b">
pipe.program @p of @s pipeline {
  // expected-error @+1 {{pipe.repeat is for iterations that overlap, but this program runs one at a time: write what an iteration runs without it}}
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @s of @step family<"pipedream">
pipe.program @p of @s evaluation {
  // expected-error @+1 {{pipe.repeat is for iterations that overlap, but this program runs one at a time: write what an iteration runs without it}}
  pipe.rank 0 { pipe.repeat %t { pipe.forward @s0[%t] } }
}
