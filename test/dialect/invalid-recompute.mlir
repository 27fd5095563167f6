// RUN: rondo-opt %s --pipe-schedule --split-input-file --verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 recomputes layer @h0, which is not one of its layers}}
  pipe.stage @s0 [@wte, @lm_head] on 0 recompute [@h0]
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 lists layer @wte twice to recompute}}
  pipe.stage @s0 [@wte, @lm_head] on 0 recompute [@wte, @wte]
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-error @+1 {{recompute_ns is -1; the minimum is 0}}
  pipe.stage @s0 [@l0] on 0 recompute costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1, input_grad_frees_bytes = 1, output_bytes = 0, recompute_ns = -1>
}

// -----

// An order leaves the task out.

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{stage @s0 is on rank 0}}
  pipe.stage @s0 [@l0] on 0 recompute
}
pipe.schedule @mine of @step {
  // expected-error @+1 {{0R0 is missing on rank 0 [S1]}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

// A stage that keeps its activations has nothing to recompute.

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @+1 {{0R0 at position 1 of rank 0 has nothing to do: stage 0 keeps what its backward needs [S1]}}
    pipe.recompute @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

// R comes before the backward that needs it.

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 recompute }
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @+1 {{0I0 at position 1 of rank 0 comes before 0R0 at position 2, which it needs [S3]}}
    pipe.input_grad @s0[0]
    // expected-note @+1 {{0R0 stands here}}
    pipe.recompute @s0[0]
    pipe.weight_grad @s0[0]
  }
}
