// RUN: rondo-opt %s --pipe-schedule --split-input-file --verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-error @+1 {{stage @s0 recomputes across stages, but no stage feeds it; write recompute alone}}
  pipe.stage @s0 [@l0] on 0 recompute across
  pipe.stage @s1 [@l1] on 1 recompute across
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{stage @s0 is here}}
  pipe.stage @s0 [@l0] on 0
  // expected-error @+1 {{stage @s1 recomputes from what stage @s0 recomputes, but @s0 keeps its activations; write recompute after the ranks of @s0, without a list of layers}}
  pipe.stage @s1 [@l1] on 1 recompute across
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{stage @s0 is here}}
  pipe.stage @s0 [@l0, @l1] on 0 recompute [@l1]
  // expected-error @+1 {{stage @s1 recomputes from what stage @s0 recomputes, but @s0 recomputes some of its layers; write recompute after the ranks of @s0, without a list of layers}}
  pipe.stage @s1 [@l2] on 1 recompute across
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  // expected-note @+1 {{stage @s0 is here}}
  pipe.stage @s0 [@l0] on [0, 1] recompute
  // expected-error @+1 {{stage @s1 recomputes from what stage @s0 recomputes, which takes stages on one rank each; @s0 is on 2 ranks; leave out across, so that @s1 keeps its input, or put @s0 on one rank}}
  pipe.stage @s1 [@l1] on 2 recompute across
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 recompute
  // expected-error @+1 {{a stage that recomputes across stages recomputes all of its layers; leave out the list}}
  pipe.stage @s1 [@l1] on 1 recompute across [@l1]
}

// -----

// R of a rank cannot come before the R that it waits for.

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 recompute
  pipe.stage @s1 [@l1] on 0 recompute across
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.forward @s1[0]
    // expected-error @+1 {{1R0 at position 2 of rank 0 comes before 0R0 at position 4, which it needs [S3]}}
    pipe.recompute @s1[0]
    pipe.backward @s1[0]
    // expected-note @+1 {{0R0 stands here}}
    pipe.recompute @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

// R with weights moved back takes the mean of their changes, which a backward keeps.

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 recompute }
// expected-error @+1 {{stage 0 makes activations again with weights moved back, but its backward reads live weights, so that nothing keeps the mean of their changes: say backward extrapolated, or activations live}}
pipe.schedule @mine of @step family<"pipemare"> versions<forward = live, backward = live, activations = extrapolated>
