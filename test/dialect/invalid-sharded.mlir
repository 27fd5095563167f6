// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) {
  // expected-error@+1 {{stage @s0 has its state in 1 shard, but 1 replica: groups of 2 or more must divide them; list 2 ranks or more, or leave out `sharded`}}
  pipe.stage @s0 [@l0] on 0 sharded<weights>
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) {
  // expected-error@+1 {{stage @s0 has its state in 1 shard, but 1 replica: groups of 2 or more must divide them; list 2 ranks or more, or leave out `sharded`}}
  pipe.stage @s0 [@l0] on 0 sharded<moments>
}

// -----

pipe.cluster @three { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @three microbatches(2) samples(3) {
  // expected-error@+1 {{stage @s0 has its state in 2 shards, but 3 replicas: groups of 2 or more must divide them; leave out `shards` for one shard on each rank, or write a number that divides them}}
  pipe.stage @s0 [@l0] on [0, 1, 2] sharded<gradients, shards = 2>
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) {
  // expected-error@+1 {{stage @s0 is sharded, but assigns whole micro-batches to its replicas; those of a group gather together, so leave out `round_robin` or `sharded`}}
  pipe.stage @s0 [@l0] on [0, 1] round_robin sharded<weights>
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
// expected-note@+1 {{plan @step is here}}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @step {
  pipe.rank 0 {
    // expected-error@+1 {{stage @s1 is not in plan @step}}
    pipe.unshard @s1[0]
  }
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @family of @step family<"gpipe">
pipe.program @lowered of @family pipeline {
  // expected-error@+1 {{collective @c0 names 1 replicas of 2 stages; it has one for each}}
  pipe.collective @c0 gather_weights [@s0, @s0] replicas [0]
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @family of @step family<"gpipe">
pipe.program @lowered of @family pipeline {
  // expected-error@+1 {{elements are the first one, from 0, and how many, 1 or more}}
  pipe.collective @c0 tied_gradients "wte" [@s0] elements [0]
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  // expected-error@+1 {{expected one of optimizer, gradients, weights, moments, not 'weight'}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<weight>
}

// -----

// expected-error@+1 {{gathers<...> has -1 chunks; there must be 0 to 2147483647}}
pipe.schedule @family of @step family<"gpipe"> gathers<weights = [1, -1]>

// -----

// expected-error@+1 {{gathers<rule = unit> takes no weights, gradients or ahead: its units say how many chunks are whole}}
pipe.schedule @family of @step family<"gpipe"> gathers<rule = unit, weights = 2>

// -----

// expected-error@+1 {{gathers<unit = 4> needs rule = unit: other rules count chunks}}
pipe.schedule @family of @step family<"gpipe"> gathers<unit = 4>

// -----

// expected-error@+1 {{unit is -4; it must be 1 or more; without it, it is that of blockwise}}
pipe.schedule @family of @step family<"gpipe"> gathers<rule = unit, unit = -4>

// -----

// expected-error@+1 {{unit is 0; it must be 1 or more; without it, it is that of blockwise}}
pipe.schedule @family of @step family<"blockwise"> gathers<rule = unit, unit = 0>

// -----

// expected-error@+1 {{expected one of nearest, unit, not 'units'; did you mean unit?}}
pipe.schedule @family of @step family<"gpipe"> gathers<rule = units>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  // expected-error@+1 {{shards is 0; it must be 2 or more; without it, all replicas of the stage have the state once}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights, shards = 0>
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
// expected-error@+2 {{resident is 0; it must be 1 or more; without it, 16 may be in flight}}
// expected-error@+1 {{failed to parse}}
pipe.plan @step of @toy on @two microbatches(2) samples(2) target<cuda, bf16, resident = 0> {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{[] has no numbers of chunks; write one number for all ranks or one for each, or leave the word out}}
pipe.schedule @family of @step family<"gpipe"> gathers<weights = []>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @step {
  pipe.rank 0 {
    // expected-error@+1 {{the number of a unit is 9999999999999; it is at most 1073741824}}
    pipe.unshard @s0[9999999999999]
  }
}
