// Sizes that could overflow a sum are refused, not wrapped.
// RUN: rondo-opt %s --pipe-resolve-stages -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
// expected-error @below {{sizes are absurd}}
pipe.model @gpt gpt<vocab = 2147483647, sequence = 2147483647, hidden = 1024, heads = 1, ffn = 2147483647, batch = 65536, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) { pipe.stage @s0 [@wte, @lm_head] on 0 }

// -----

// 2^31 tokens of 8 numbers fit a buffer, but no matrix of BLAS.
pipe.cluster @lab { pipe.device @d0 }
// expected-error @below {{sizes are absurd}}
pipe.model @gpt gpt<vocab = 16, sequence = 512, hidden = 8, heads = 1, ffn = 16, batch = 4194304, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) { pipe.stage @s0 [@wte, @lm_head] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  // expected-error @below {{layer states 70368744177665 bytes, more than the most of 70368744177664}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 70368744177665>
}
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  // expected-error @below {{layer states 9223372036854775807 ns, more than the most of 70368744177664}}
  pipe.layer @l0 synthetic<forward_ns = 9223372036854775807, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
// expected-note @+1 {{this is the model}}
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 1040, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-error @+1 {{target cuda takes heads of at most 256 numbers; these have 520: a model of more heads, or target cpu}}
pipe.plan @step of @gpt on @lab microbatches(1) target<cuda, bf16> { pipe.stage @s0 [@wte, @lm_head] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  // expected-error @below {{layer states 9223372036854775807 ns, more than the most of 70368744177664}}
  pipe.layer @lm_head head costs<forward_ns = 1, input_grad_ns = 9223372036854775807, weight_grad_ns = 1>
}
pipe.plan @step of @gpt on @lab microbatches(1) { pipe.stage @s0 [@wte, @lm_head] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  // expected-note @+1 {{layer @first is here}}
  pipe.layer @first custom<body = "first", data = tokens, output_bytes = 512>
  pipe.layer @own custom<body = "own", samples = [2, 4], by_sample = true, output_bytes = [256, 512]>
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  pipe.stage @s0 [@first] on 0
  // expected-error @+1 {{stage @s1 divides the output of layer @first among its replicas, but the layer does not say that it has the samples one after another: write by_sample = true and samples = [...] into the layer if it has, or `round_robin` after the stage's ranks}}
  pipe.stage @s1 [@own, @lm_head] on [0, 1]
}
