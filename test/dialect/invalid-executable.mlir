// Schedules of one state have the same stages on the same ranks.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{executable @train has no schedules}}
pipe.executable @train of []

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{executable @train names @a twice}}
pipe.executable @train of [@a, @a]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{unknown schedule @b}}
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @p family<"gpipe">
// expected-note @+1 {{the other is here}}
pipe.executable @train of [@a, @b]
// expected-error @+1 {{schedule @b is in two executables}}
pipe.executable @again of [@b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// expected-error @+1 {{executable @train: plans @p and @q take different numbers of samples per iteration: 2 micro-batches of 4 samples and 4 micro-batches of 4 samples}}
pipe.plan @q of @gpt on @lab microbatches(4) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

// Micro-batches of timed layers have no size.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 2, output_bytes = 0> }
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @timed on @lab microbatches(8) { pipe.stage @s0 [@l] on 0 }
// expected-error @+1 {{executable @train: plans @p and @q have different numbers of micro-batches, 8 and 4}}
pipe.plan @q of @timed on @lab microbatches(4) { pipe.stage @s0 [@l] on 0 }
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s1 [@lm_head] on 1
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{executable @train: plans @p and @q have stage @s1 on different ranks: rank 1, and rank 0}}
  pipe.stage @s1 [@lm_head] on 0
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// expected-error @+1 {{executable @train: plans @p and @q are for different targets}}
pipe.plan @q of @gpt on @lab microbatches(2) target<cuda, bf16> {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.cluster @other { pipe.device @d0 pipe.device @d1 }
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// expected-error @+1 {{executable @train: plans @p and @q are on different clusters}}
pipe.plan @q of @gpt on @other microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.model @gpt2 gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// expected-error @+1 {{executable @train: plans @p and @q cut different models}}
pipe.plan @q of @gpt2 on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// expected-error @+1 {{executable @train: plans @p and @q have different stages, 2 and 1}}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q have different layers in stages @s0 and @all}}
  pipe.stage @all [@wte, @lm_head] on 0
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-error @+1 {{samples is 0; it must be 1 or more}}
pipe.plan @p of @gpt on @lab microbatches(2) samples(0) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 }
// expected-note @+1 {{layer @l0 states its sizes}}
pipe.model @timed { pipe.layer @l0 custom<body = "mlp", output_bytes = 8> }
// expected-error @+1 {{plan @p says how many samples a micro-batch has, but layers of model @timed state their sizes for a micro-batch of the model's own: leave out `samples(2)`}}
pipe.plan @p of @timed on @lab microbatches(2) samples(2) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s1 [@lm_head] on [1, 2]
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{executable @train: plans @p and @q divide the samples of a micro-batch in stage @s1 differently over ranks: rank 1 has 2 of 4 and 3 of 4}}
  pipe.stage @s1 [@lm_head] on [1: 3, 2: 1]
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s1 [@lm_head] on [1: 3, 2: 1]
}
pipe.plan @q of @gpt on @lab microbatches(4) samples(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{executable @train: plans @p and @q divide the samples of a micro-batch in stage @s1 differently over ranks: rank 1 has 3 of 4 and 1 of 2}}
  pipe.stage @s1 [@lm_head] on [1, 2]
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s1 [@lm_head] on [1, 2]
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{executable @train: plans @p and @q have stage @s1 on different ranks: ranks 1 and 2, and ranks 2 and 1}}
  pipe.stage @s1 [@lm_head] on [2, 1]
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s1 [@lm_head] on [1, 2]
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{executable @train: plans @p and @q have stage @s1 on different ranks: ranks 1 and 2, and rank 1}}
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @m { pipe.layer @l synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1> }
pipe.plan @p of @m on @lab microbatches(2) { pipe.stage @s [@l] on 0 }
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{executable @train asks for 1 candidates; an adaptive one needs 2 or more}}
pipe.executable @train of [@a] adaptive<candidates = 1>

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @m { pipe.layer @l synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1> }
pipe.plan @p of @m on @lab microbatches(2) { pipe.stage @s [@l] on 0 }
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{executable @train has 0 memory_bytes; it must be 1 or more}}
pipe.executable @train of [@a] adaptive<memory_bytes = 0>
