// Plans that do not fit.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower -split-input-file -verify-diagnostics

// A table of slots has 16-bit numbers; data are staged for all micro-batches.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(65537) { pipe.stage @s0 [@wte, @lm_head] on 0 }
// expected-error @below {{rank 0 would need 65537 buffers of 128 bytes at once; a pool has 65536 slots at most}}
pipe.schedule @main of @step family<"1f1b">

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0 buffers<saved_for_input_grad = 9223372036854775807>
}
// expected-error @below {{stage 0 asks for 9223372036854775807 bytes of saved_for_input_grad; an arena has 0 to 1125899906842624}}
pipe.schedule @main of @step family<"1f1b">

// -----

// The arena also counts weights and messages, which no schedule can change.
// expected-note @below {{this is the device; the arena holds 1024 bytes of weights, 1024 of gradients, 2048 of optimizer state, 192 of control and data}}
pipe.cluster @lab { pipe.device @d0 <memory_bytes = 1000> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 1024> }
// expected-note @below {{`rondo search FILE --placement auto --microbatches LIST` searches for a plan that fits}}
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
// expected-error @below {{rank 0 needs an arena of}}
pipe.schedule @main of @step family<"1f1b">
