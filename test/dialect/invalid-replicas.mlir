// Errors of the replicas of a stage.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 is on no rank}}
  pipe.stage @s0 [@l0] on []
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 is on rank 0 twice; it has one replica on a rank, with all its samples there}}
  pipe.stage @s0 [@l0] on [0, 2, 0]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 both divides the samples of each micro-batch over its replicas and assigns them whole micro-batches; leave out `round_robin`, or the samples after its ranks}}
  pipe.stage @s0 [@l0] on [0: 1, 2: 3] round_robin
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 assigns micro-batches to one replica; list several ranks, or leave out `round_robin`}}
  pipe.stage @s0 [@l0] on 0 round_robin
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 is on rank -1; ranks are numbered from 0}}
  pipe.stage @s0 [@l0] on [0, -1]
  pipe.stage @s1 [@l1] on 1
}

// -----

// expected-note @+1 {{cluster @lab is here}}
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 is on rank 4, but cluster @lab has 4 devices}}
  pipe.stage @s0 [@l0] on [0, 4]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 has 0 samples on rank 2; it must be 1 to 1048576}}
  pipe.stage @s0 [@l0] on [0: 4, 2: 0]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 has 1048577 samples on rank 0; it must be 1 to 1048576}}
  pipe.stage @s0 [@l0] on [0: 1048577]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{either every rank is followed by its number of samples, as in [2: 6, 3: 2], or none}}
  pipe.stage @s0 [@l0] on [0: 3, 2]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{either every rank is followed by its number of samples, as in [2: 6, 3: 2], or none}}
  pipe.stage @s0 [@l0] on [0, 2: 3]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 lists buffers of 1 replica, but it has 2}}
  pipe.stage @s0 [@l0] on [0, 2] buffers[<weights = 64>]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 lists buffers of 1 replica, but it has 2}}
  pipe.stage @s0 [@l0] on [0, 2] buffers<weights = 64>
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{stage @s0 lists buffers of 2 replicas, but it has 1}}
  pipe.stage @s0 [@l0] on 0 buffers[<weights = 64>, <weights = 64>]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{the replicas of stage @s0 take 5 samples of a micro-batch together, which has 4: write numbers with that sum, as in `on [0: 2, 2: 2]`}}
  pipe.stage @s0 [@l0] on [0: 3, 2: 2]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{the replicas of stage @s0 take 3 samples of a micro-batch together, which has 4: write numbers with that sum, as in `on [0: 4]`}}
  pipe.stage @s0 [@l0] on [0: 3]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 divides the samples of a micro-batch, but plan @step does not say how many these are: write samples(2) after its number of micro-batches}}
  pipe.stage @s0 [@l0] on [0, 2]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 divides the samples of a micro-batch, but plan @step does not say how many these are: write samples(4) after its number of micro-batches}}
  pipe.stage @s0 [@l0] on [0: 3, 2: 1]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) samples(4) {
  // expected-error @+1 {{the 4 samples of a micro-batch cannot be divided equally over the 3 replicas of stage @s0: write the samples of each, as in `on [0: 2, 2: 1, 3: 1]`}}
  pipe.stage @s0 [@l0] on [0, 2, 3]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) samples(1) {
  // expected-error @+1 {{stage @s0 has 2 replicas, which cannot share a micro-batch of 1 sample, because each takes at least 1: write samples(2) or more, or write `on [0, 2] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@l0] on [0, 2]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own">
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  pipe.stage @s0 [@wte] on [0, 1]
  // expected-error @+1 {{stage @s1 has 2 replicas, but the body of layer @own takes whole micro-batches only: put the layer in a stage of its own on one rank, or write `on [0, 1] round_robin`, or put the stage on one rank, or let it divide them by `samples = [...]` and `by_sample = true` in the layer}}
  pipe.stage @s1 [@own, @lm_head] on [0, 1]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own">
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 2 replicas that divide the samples of each micro-batch, since it is sharded, but the body of layer @own takes whole micro-batches only: put the layer in a stage of its own on one rank, or leave out `sharded` and write `on [0, 1] round_robin`, or put the stage on one rank, or let it divide them by `samples = [...]` and `by_sample = true` in the layer}}
  pipe.stage @s0 [@wte, @own, @lm_head] on [0, 1] sharded<weights>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own">
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 2 replicas, but the body of layer @own takes whole micro-batches only: put the layer in a stage of its own on one rank, or write `on [0, 1] round_robin`, or put the stage on one rank, or let it divide them by `samples = [...]` and `by_sample = true` in the layer}}
  pipe.stage @s0 [@wte, @own, @lm_head] on [0: 3, 1: 1]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own">
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has 3 replicas, but the body of layer @own takes whole micro-batches only: put the layer in a stage of its own on one rank, or put the stage on one rank, or let it divide them by `samples = [...]` and `by_sample = true` in the layer}}
  pipe.stage @s0 [@wte, @own, @lm_head] on [0, 1, 2]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 2 replicas, which cannot share a micro-batch of 1 sample, because each takes at least 1: write samples(2) or more, or leave out `sharded` and write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1] sharded<weights>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 2> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 4 replicas, which cannot share a micro-batch of 2 samples, because each takes at least 1: write samples(4) or more, or list 2 ranks or fewer}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 3> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 4 replicas, which cannot share a micro-batch of 3 samples, because each takes at least 1: write samples(4) or more, or list 2 ranks}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2, 3] sharded<weights, shards = 2>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 2> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has 3 replicas, which cannot share a micro-batch of 2 samples, because each takes at least 1: write samples(3) or more, or put the stage on one rank}}
  pipe.stage @s0 [@wte, @lm_head] on [0, 1, 2]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @own custom<body = "own">
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 2 replicas, which cannot share a micro-batch of 1 sample, because each takes at least 1: use a model with batch = 2 or more, or write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@wte] on [0, 1]
  pipe.stage @s1 [@own, @lm_head] on 2
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @m {
  pipe.layer @own custom<body = "own">
  pipe.layer @timed synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @m on @lab microbatches(8) {
  pipe.stage @s0 [@own] on 0
  // expected-error @+1 {{stage @s1 divides the samples of a micro-batch, but layers of model @m state their sizes for whole micro-batches: write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s1 [@timed] on [0, 1]
}
