// The error for a mistyped word suggests the right one.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{unknown key 'memory_byte'; did you mean memory_bytes?}}
pipe.cluster @lab { pipe.device @d0 <memory_byte = 8, flops_per_us = 3> }

// -----

// A comment with > and a name = 3 is not a key. The error for a word that is
// far from every key lists all of them.
pipe.cluster @lab { pipe.device @d0 <memory_bytes = 8, // a > b, speed = 3
                                     // expected-error @+1 {{unknown key 'colour'; the keys are memory_bytes, flops_per_us}}
                                     colour = 3> }

// -----

// expected-error @+1 {{unknown key 'activations_bytes'; did you mean activation_bytes?}}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, activations_bytes = 2> }

// -----

// expected-error @+1 {{expected one of embedding, block, head, synthetic, custom, not 'sythetic'; did you mean synthetic?}}
pipe.model @timed { pipe.layer @l0 sythetic<forward_ns = 1> }

// -----

// expected-error @+1 {{unknown op; did you mean pipe.cluster?}}
pipe.clutser @lab { pipe.device @d0 }

// -----

// expected-error @+1 {{unknown op}}
pipe.orchestra @lab { pipe.device @d0 }

// -----

// Words of an op that are out of order or appear twice.
pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{'recompute' of pipe.stage appears twice or out of order; expected order: on, round_robin or sharded, recompute, offload, before, from, costs, buffers}}
  pipe.stage @s1 [@l1] on 1 from [@s0] recompute
}

// -----

pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{'round_robin' of pipe.stage appears twice or out of order; expected order: on, round_robin or sharded, recompute}}
  pipe.stage @s1 [@l1] on [1, 2] sharded<weights> round_robin
}

// -----

pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{'recompute' of pipe.stage appears twice or out of order; expected order: on, round_robin or sharded, recompute}}
  pipe.stage @s1 [@l1] recompute on 1
}

// -----

pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{'recompute' of pipe.stage appears twice or out of order}}
  pipe.stage @s1 [@l1] on 1 recompute recompute [@l1]
}

// -----

pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{expected a list of names: write [@a, @b]}}
  pipe.stage @s1 on 1 [@l1]
}

// -----

// expected-error @+1 {{'samples' of pipe.plan appears twice or out of order; expected order: of, on, microbatches, samples, documents or tokens, target, optimizer, {...}}}
pipe.plan @p of @m on @c microbatches(2) optimizer(sgd) samples(4) { pipe.stage @s0 [@l0] on 0 }

// -----

// expected-error @+1 {{'on' of pipe.plan appears twice or out of order; expected order: of, on, microbatches}}
pipe.plan @p on @c of @m microbatches(2) { pipe.stage @s0 [@l0] on 0 }

// -----

// expected-error @+1 {{'optimizer' of pipe.plan appears twice or out of order}}
pipe.plan @p of @m on @c microbatches(2) { pipe.stage @s0 [@l0] on 0 } optimizer(sgd)

// -----

// expected-error @+1 {{'channels' of pipe.cluster appears twice or out of order; expected order: channels, link, {...}}}
pipe.cluster @c link<latency_ns = 1> channels<rendezvous> { pipe.device @d0 }

// -----

// expected-error @+1 {{'gpt' of pipe.model appears twice or out of order; expected order: gpt or llama, samples, {...}}}
pipe.model @m { pipe.layer @l0 custom<body = "l"> } gpt<vocab = 1>

// -----

// expected-error @+1 {{'family' of pipe.schedule appears twice or out of order; expected order: of, family, search, found, versions, gathers, accumulate, norm, clip, claims, {...}}}
pipe.schedule @a of @p norm(none) family<"1f1b">

// -----

// expected-error @+1 {{'of' of pipe.executable appears twice or out of order; expected order: of, adaptive}}
pipe.executable @e of [@a] adaptive<candidates = 2> of [@b]

// -----

pipe.schedule @a of @p {
  pipe.rank 0 {
    // expected-error @+1 {{'count' of pipe.backward appears twice}}
    pipe.backward @s0[0] count(2) count(2)
  }
}

// -----

pipe.schedule @a of @p {
  pipe.rank 0 {
    // expected-error @+1 {{unknown word 'twice' in pipe.forward, which takes no further words}}
    pipe.forward @s0[0] twice
  }
}

// -----

// A misspelt word of an op, and one that is none.
pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{unknown word 'recompte' in pipe.stage; did you mean recompute?}}
  pipe.stage @s1 [@l1] on 1 recompte
}

// -----

// expected-error @+1 {{unknown word 'optimiser' in pipe.plan; did you mean optimizer?}}
pipe.plan @p of @m on @c microbatches(2) optimiser(sgd) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.plan @p of @m on @c microbatches(2) {
  // expected-error @+1 {{unknown word 'quickly' in pipe.stage; expected order of its words: on, round_robin or sharded}}
  pipe.stage @s1 [@l1] on 1 quickly
}

// -----

// expected-error @+1 {{unknown word 'memory_bytes' in pipe.device; figures are written in <...>, as in <memory_bytes = 1>}}
pipe.cluster @c { pipe.device @d0 memory_bytes = 8 }

// -----

pipe.schedule @a of @p {
  pipe.rank 0 {
    // expected-error @+1 {{unknown word 'steps' in pipe.for; did you mean step?}}
    pipe.for %i = 0 to 4 steps 2 { pipe.forward @s0[%i] }
  }
}

// -----

// An op without its dialect.
pipe.plan @p of @m on @c microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-error @+1 {{unknown op 'stage'; did you mean pipe.stage?}}
  stage @s1 [@l1] on 1
}

// -----

// expected-error @+1 {{unknown op 'device'; did you mean pipe.device?}}
pipe.cluster @c { device @d0 }

// -----

// These words may follow an op.
pipe.cluster @c { pipe.device @d0 loc("here") } loc("there")
module @after { }

// -----

// Earlier keys are read in the attribute that had them.
pipe.model @toy {
  // expected-error @below {{unknown key 'forwards_ns'; did you mean forward_ns?}}
  pipe.layer @l0 synthetic<forwards_ns = 1, input_grad_ns = 2, weight_grad_ns = 2>
}

// -----

pipe.program @main of @order pipeline {
  // expected-error @below {{expected a name such as @c0, or a number of 0 or more, not -1}}
  pipe.collective -1 gradient_norm [@s0]
}
