// Sizes that no body takes, and sizes that could overflow a sum.
// RUN: rondo-opt %s --pipe-resolve-stages -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
// expected-note @below {{this is the model}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, head_width = 258, ffn = 8, batch = 1> {
  pipe.layer @e embedding
  pipe.layer @lm_head head
}
// expected-error @below {{target cuda takes heads of at most 256 numbers; these have 258: a model of more heads, or target cpu}}
pipe.plan @step of @m on @lab microbatches(2) target<cuda, fp32> { pipe.stage @s0 [@e, @lm_head] on 0 }

// -----

// Wide heads count, though `hidden` is small.
pipe.cluster @lab { pipe.device @d0 }
// expected-error @below {{sizes are absurd}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 65536, head_width = 65536, ffn = 8, batch = 1> {
  pipe.layer @e embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @m on @lab microbatches(2) { pipe.stage @s0 [@e, @lm_head] on 0 }
