// Plans of one executable keep the state of their stages in one way.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1]
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q keep the state of stage @s0 differently, with no `sharded` and `sharded<weights, shards = 2>`; plans of one executable share state and data: write the same `sharded` in both, or compile them separately (--schedule a, --schedule b)}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1] sharded<weights>
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
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1] sharded<optimizer>
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q keep the state of stage @s0 differently, with `sharded<optimizer, shards = 2>` and `sharded<gradients, shards = 2>`}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1] sharded<gradients>
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
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @lm_head] on [0, 1]
}
// expected-error @+1 {{executable @train: plans @p and @q use different optimizers, adamw and sgd; plans of one executable share state and data: write one optimizer(...) in both, or compile them separately (--schedule a, --schedule b)}}
pipe.plan @q of @gpt on @lab microbatches(2) optimizer(sgd) {
  pipe.stage @s0 [@wte, @lm_head] on [0, 1]
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
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1]
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q run the replicas of stage @s0 differently: @p divides the samples of each micro-batch, @q gives each replica whole micro-batches, round-robin; plans of one executable share state and data: write `round_robin` in both or in neither, or compile}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1] round_robin
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
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @first [@wte, @lm_head] on [0, 1] round_robin
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q run the replicas of stages @first and @s0 differently: @p gives each replica whole micro-batches, round-robin, @q divides the samples of each micro-batch}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1]
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights>
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{executable @train: plans @p and @q keep the state of stage @s0 differently, with `sharded<weights, shards = 4>` and `sharded<weights, shards = 2>`}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights, shards = 2>
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

// The same shards, written in two ways.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @p of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights>
}
pipe.plan @q of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights, shards = 4>
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  // expected-note @+1 {{plan @p has this}}
  pipe.stage @s2 [@l2] on 2
}
pipe.plan @q of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  // expected-error @+1 {{executable @train: plans @p and @q feed stage @s2 from different stages; plans of one executable share state and data: write the same `from` in both, or compile}}
  pipe.stage @s2 [@l2] on 2 from [@s1, @s0]
}
pipe.schedule @a of @p family<"gpipe">
pipe.schedule @b of @q family<"gpipe">
pipe.executable @train of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @m gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @mlp states its sizes}}
  pipe.layer @mlp custom<body = "mlp">
  pipe.layer @lm_head head
}
// expected-error @+1 {{plan @p says how many samples a micro-batch has, but layers of model @m state their sizes for the model's own batch of 4 samples: leave out `samples(2)`, or use a model with batch = 2 whose layers state their sizes for it, or let the layer state them for several numbers by `samples = [...]`}}
pipe.plan @p of @m on @lab microbatches(2) samples(2) { pipe.stage @s0 [@wte, @mlp, @lm_head] on 0 }
