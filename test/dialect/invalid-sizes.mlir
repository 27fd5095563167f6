// Sizes that custom layers state for several numbers of samples.

// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{output_bytes has 2 numbers, but the layer does not say for which numbers of samples: add samples = [...]}}
  pipe.layer @own custom<body = "own", output_bytes = [128, 512]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{output_bytes has 0 numbers, but the layer does not say for which numbers of samples: add samples = [...]}}
  pipe.layer @own custom<body = "own", output_bytes = []>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{workspace_bytes has 3 numbers for 2 numbers of samples (samples)}}
  pipe.layer @own custom<body = "own", samples = [1, 4], workspace_bytes = [1, 2, 3]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{samples must be numbers from 1 on, ascending}}
  pipe.layer @own custom<body = "own", samples = [4, 1]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{samples has 17 numbers; the maximum is 16}}
  pipe.layer @own custom<body = "own", samples = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{forward_flops is -1; the minimum is 0}}
  pipe.layer @own custom<body = "own", samples = [1, 4], forward_flops = [8, -1]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{[] has no numbers of samples; write one or more, or leave the key out}}
  pipe.layer @own custom<body = "own", samples = [], output_bytes = 512>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{by_sample = true lets replicas divide micro-batches, but the layer states its sizes for whole ones alone: add samples = [...]}}
  pipe.layer @own custom<body = "own", by_sample = true, output_bytes = 512>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{by_sample = true needs an output of equal size for each sample, but output_bytes is 512 for 4 samples, not 192 for each}}
  pipe.layer @own custom<body = "own", samples = [1, 4], by_sample = true, output_bytes = [192, 512]>
  pipe.layer @lm_head head
}

// -----

pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{by_sample = true needs an output that has the samples one after another, but its last 64 bytes have no gradient: leave out one}}
  pipe.layer @own custom<body = "own", samples = [1, 4], by_sample = true, output_bytes = [128, 512], output_without_grad_bytes = 64>
  pipe.layer @lm_head head
}

// -----

// expected-note @+1 {{model @gpt is here}}
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-error @+1 {{layer @own states its sizes for 1 and 2 samples, but its model has micro-batches of 4 samples: add 4 to `samples` of the layer, which in an exported model is `export_stages(..., samples=[1, 2, 4])`}}
  pipe.layer @own custom<body = "own", samples = [1, 2], output_bytes = [128, 256]>
  pipe.layer @lm_head head
}

// -----

// expected-note @+1 {{model @own is here}}
pipe.model @own {
  // expected-error @+1 {{layer @first states its sizes for 1 sample, but its model does not say how many samples a micro-batch has: write samples(N) after @own}}
  pipe.layer @first custom<body = "first", samples = [1], loss = true>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own states its sizes}}
  pipe.layer @own custom<body = "own", samples = [1, 2, 4], output_bytes = [128, 256, 512]>
  pipe.layer @lm_head head
}
// expected-error @+1 {{a micro-batch of plan @step has 3 samples, but layer @own states its sizes for 1, 2 and 4 samples: write samples(N) with one of these after the number of micro-batches, or add 3 to `samples` of the layer, which in an exported model is `export_stages(..., samples=[1, 2, 3, 4])`}}
pipe.plan @step of @gpt on @lab microbatches(8) samples(3) {
  pipe.stage @s0 [@wte, @own, @lm_head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own", samples = [1, 4], by_sample = true, output_bytes = [128, 512]>
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has a replica that takes 3 samples of a micro-batch, but layer @own states its sizes for 1 and 4 samples: give each replica one of these, as in `[RANK: SAMPLES, ...]`, or add 3 to `samples` of the layer, which in an exported model is `export_stages(..., samples=[1, 3, 4])`}}
  pipe.stage @s0 [@wte, @own, @lm_head] on [0: 1, 1: 3]
}

// -----

// Sizes alone do not say that samples can be divided.

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own", samples = [2, 4], data = tokens, output_bytes = [256, 512]>
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has 2 replicas, but the body of layer @own takes whole micro-batches only}}
  pipe.stage @s0 [@own, @lm_head] on [0, 1]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own", samples = [2, 4], by_sample = true, weight_bytes = 128, frozen_weight_bytes = 64, output_bytes = [256, 512]>
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 is sharded, but layer @own has frozen weights, which have no gradients to shard: leave out `sharded`, or put the layer in a stage of its own without it}}
  pipe.stage @s0 [@wte, @own, @lm_head] on [0, 1] sharded<optimizer>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4, tied = true> {
  // expected-note @+1 {{layer @own is here}}
  pipe.layer @own custom<body = "own", samples = [2, 4], by_sample = true, data = tokens, output_bytes = [256, 512]>
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 is sharded, but layer @own is custom and shares a weight with another layer, whose place only its body knows: leave out `sharded`}}
  pipe.stage @s0 [@own] on [0, 1] sharded<weights>
  pipe.stage @s1 [@lm_head] on 0
}
