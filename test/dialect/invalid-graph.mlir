// Errors of a plan whose stages form a graph.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics --pipe-resolve-stages

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-error @+1 {{stage @s1 gets its input from @s3, which is not a stage of plan @step}}
  pipe.stage @s1 [@l1] on 0 from [@s3]
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 gets its input from @s1, which does not come before it}}
  pipe.stage @s0 [@l0] on 0 from [@s1]
  // expected-note @+1 {{stage @s1 is here}}
  pipe.stage @s1 [@l1] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-error @+1 {{stage @s1 names @s0 twice in `from`}}
  pipe.stage @s1 [@l1] on 0 from [@s0, @s0]
}

// -----

// A block of a GPT has one input.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  // expected-note @+1 {{layer @h1 is here}}
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 0
  // expected-error @+1 {{stage @s2 has 2 inputs, from @s1 and @s0; its first layer @h1 takes 1}}
  pipe.stage @s2 [@h1, @lm_head] on 0 from [@s1, @s0]
}

// -----

// So it is on a GPU.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  // expected-note @+1 {{layer @h1 is here}}
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) target<cuda, bf16> {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 0
  // expected-error @+1 {{stage @s2 has 2 inputs, from @s1 and @s0; its first layer @h1 takes 1}}
  pipe.stage @s2 [@h1, @lm_head] on 0 from [@s1, @s0]
}

// -----

// Names of stages and of layers are lists.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @m { pipe.layer @l synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 2, output_bytes = 0> }
pipe.plan @step of @m on @lab microbatches(2) {
  // expected-error @+1 {{expected a list of names: write [@a]}}
  pipe.stage @s0 [@l] on 0 from @a
}

// -----

pipe.plan @step of @m on @lab microbatches(2) {
  // expected-error @+1 {{expected a list of names: write [@l]}}
  pipe.stage @s0 @l on 0
}
