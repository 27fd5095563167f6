// The rules of a partition, each broken alone. P2 is a local rule of the
// dialect.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-partitioned -split-input-file -verify-diagnostics

// P1: twice.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-note @below {{it is here as well}}
  pipe.stage @s0 [@l0, @l1] on 0
  // expected-error @below {{layer @l1 is in two stages [P1]}}
  pipe.stage @s1 [@l1] on 1
}

// -----

// P1: missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  // expected-note @below {{this is the layer}}
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @below {{layer @l2 is in no stage [P1]}}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// -----

// P1: out of order.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
// expected-note @below {{this is the model}}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-error @below {{layer @l1 comes where @l0 is due: stages are consecutive pieces in model order [P1]}}
  pipe.stage @s0 [@l1] on 0
  pipe.stage @s1 [@l0] on 1
}

// -----

// P3: the times of all micro-batches leave the core's range.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 70368744177664, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @below {{the times of all tasks and messages sum to 2^60 ns (36 years) or more [P3]}}
pipe.plan @step of @timed on @lab microbatches(16777215) { pipe.stage @s0 [@l0] on 0 }

// -----

// P4: a stage of a GPT that nothing takes.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding
  // expected-note @below {{layer @h0 is here; a later stage takes its output with from [@s1]}}
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @below {{stage @s1 feeds no other stage, but its last layer @h0 writes no loss [P4]}}
  pipe.stage @s1 [@h0] on 0
  pipe.stage @s2 [@lm_head] on 0 from [@s0]
}

// -----

// P4: a chain has an end too.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @own {
  pipe.layer @a custom<body = "a", output_bytes = 64>
  // expected-note @below {{layer @b is here; if its body writes the loss, add loss = true}}
  pipe.layer @b custom<body = "b">
}
pipe.plan @step of @own on @lab microbatches(2) {
  pipe.stage @s0 [@a] on 0
  // expected-error @below {{stage @s1 feeds no other stage, but its last layer @b writes no loss [P4]}}
  pipe.stage @s1 [@b] on 0
}

// -----

// P4 lets layers that compute nothing end anywhere.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 0
  pipe.stage @s2 [@l2] on 0 from [@s0]
}

// -----

// P5: there is nothing to share.

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @timed on @two microbatches(4) samples(2) {
  // expected-error @below {{stage @s0 is sharded, but no layer of the plan has weights; state the weight_bytes of its layers, or leave `sharded` out [P5]}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
