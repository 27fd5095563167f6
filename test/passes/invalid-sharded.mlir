// RUN: rondo-opt %s -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(pipe-schedule,pipe-insert-communication,pipe-plan-memory)"

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(1) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @step {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.forward @s0[0]
    pipe.reshard @s0[0]
    // expected-error@+1 {{0B0 at position 3 of rank 0 reads weights of stage 0 that are not gathered; unshard them before it [S9]}}
    pipe.backward @s0[0]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.forward @s0[0]
    pipe.backward @s0[0]
    pipe.reshard @s0[0]
    pipe.reduce_grad @s0[0]
  }
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @step {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    // expected-note@+1 {{reduce_grad 0 of stage 0 stands here}}
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 {
      pipe.forward @s0[%i]
      pipe.backward @s0[%i]
      // expected-error@+1 {{adds the gradients of 1 micro-batch from 0 on}}
      pipe.reduce_grad @s0[%i]
    }
    pipe.reshard @s0[0]
  }
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  // expected-note@+1 {{stage @s0 is on ranks 0 and 1}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{iterations of @overlapped overlap, but stage @s0 shards its state; write sharded<moments>, which keeps each version of the weights whole, or leave out sharded, or let iterations drain, as with family<"1f1b">}}
pipe.schedule @overlapped of @step family<"pipedream">

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(3) samples(2) {
  // expected-note@+1 {{stage @s0 is on ranks 0 and 1}}
  pipe.stage @s0 [@l0] on [0, 1] round_robin
}
// expected-error@+1 {{iterations of @overlapped overlap, but stage @s0 assigns 3 micro-batches of each iteration to 2 replicas in turn, and every iteration begins at the first replica; give the plan a multiple of 2 micro-batches, leave out `round_robin`, or let iterations drain, as with family<"1f1b">}}
pipe.schedule @overlapped of @step family<"pipedream">

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error@+1 {{schedule @whole says how many chunks are gathered, but no stage of plan @step is sharded}}
pipe.schedule @whole of @step family<"1f1b"> gathers<weights = 1>

// -----

pipe.cluster @one { pipe.device @d0 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @one microbatches(1) {
  // expected-note@+1 {{stage @s0 is not `sharded`}}
  pipe.stage @s0 [@l0] on 0
}
pipe.schedule @hand of @step {
  pipe.rank 0 {
    // expected-error@+1 {{unshard 0 of stage 0 at position 0 of rank 0 has nothing to do: stage 0 keeps its state whole on each of its ranks [S9]}}
    pipe.unshard @s0[0]
    pipe.forward @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

// expected-note@+1 {{rank 0 is device @d0; a chunk that is gathered, with its gradients, takes 1024 bytes there in addition to activations}}
pipe.cluster @two { pipe.device @d0 <memory_bytes = 2000> pipe.device @d1 <memory_bytes = 2000> }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 512> }
pipe.plan @step of @toy on @two microbatches(1) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// Its shards fit, but not what is gathered and reduced with them.
// expected-error@+1 {{rank 0 holds 2496 bytes at 0B0, 496 more than its 2000: 1472 of weights}}
pipe.schedule @family of @step family<"gpipe">

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(4) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-note@+1 {{@one is here}}
pipe.schedule @one of @step family<"gpipe">
// expected-error@+1 {{schedule @each reduces the gradients of stage @s0 after 1, 2, 3 and 4 micro-batches, and @one after 4 micro-batches, so they cannot share a reference; compile them apart, or write the same order of gradients and reductions in both}}
pipe.schedule @each of @step family<"gpipe"> gathers<weights = 0, gradients = 0>
pipe.executable @both of [@one, @each]

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{schedule @units gathers by units, but its order has none; say how many micro-batches one has, as in gathers<rule = unit, unit = 4>, or let family<"blockwise"> write it}}
pipe.schedule @units of @step family<"gpipe"> gathers<rule = unit>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<weights> has 3 numbers for 2 ranks; write one number, or one for each rank}}
pipe.schedule @three of @step family<"gpipe"> gathers<weights = [1, 1, 1], gradients = 1>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{ranks 0 and 1 share the state of stage 0, but gathers<gradients> has 1 and 0 chunks for them; ranks that share state have the same number}}
pipe.schedule @apart of @step family<"gpipe"> gathers<weights = 1, gradients = [1, 0]>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
// expected-note@+1 {{this is the plan}}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{family 'blockwise' does not apply: blockwise cannot choose v here: this plan has 1 chunk a rank, and other plans are tried by}}
pipe.schedule @chunks of @step family<"blockwise", u = 2, v = auto>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{schedule @found is searched, and a search chooses how many chunks are gathered and when; leave gathers<...> out, or write family<...>}}
pipe.schedule @found of @step search<effort = 1> gathers<weights = 1, gradients = 1>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<ahead> has 2 chunks for rank 0, but of the 2 that a rank shares only 1 can be gathered ahead of their use; write 0 to 1, or leave it out}}
pipe.schedule @far of @step family<"looped-bfs"> gathers<weights = 2, gradients = 1, ahead = 2>


// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
// expected-note@+1 {{this schedule has the numbers}}
pipe.schedule @hand of @step gathers<weights = 1> {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    // expected-error@+1 {{rank 0 has weights of 2 chunks whole here, more than the 1 of gathers<weights>; leave `gathers` out, or the actions that move state}}
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
}


// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
// expected-note@+1 {{this schedule has the numbers}}
pipe.schedule @hand of @step gathers<weights = 2, gradients = 1> {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    pipe.forward @s0[0]
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    // expected-error@+1 {{rank 0 has gradients of 2 chunks whole here, more than the 1 of gathers<gradients>; leave `gathers` out, or the actions that move state}}
    pipe.backward @s0[0]
    pipe.forward @s0[1]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
    pipe.backward @s0[1]
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
}


// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
// expected-note@+1 {{this schedule has the numbers}}
pipe.schedule @hand of @step gathers<weights = 0> {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.forward @s0[0]
    // expected-error@+1 {{rank 0 has weights of 1 chunk whole here for more than one micro-batch, more than the 0 of gathers<weights>; leave `gathers` out, or the actions that move state}}
    pipe.forward @s0[1]
    pipe.reshard @s0[0]
    pipe.unshard @s1[0]
    pipe.forward @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[0]
    pipe.backward @s1[1]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.unshard @s0[1]
    pipe.backward @s0[0]
    pipe.backward @s0[1]
    pipe.reshard @s0[1]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
}


// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @step gathers<rule = unit, unit = 1> {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    // expected-error@+1 {{rank 0 does not gather and reduce here as gathers<rule = unit, unit = 1> does; leave `gathers` out, or the actions that move state}}
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.unshard @s1[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reshard @s1[0]
    pipe.reduce_grad @s1[0]
    pipe.reduce_grad @s0[0]
  }
}

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-note@+1 {{this schedule has the numbers}}
pipe.schedule @hand of @step gathers<gradients = 0> {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.forward @s0[0]
    pipe.backward @s0[0]
    pipe.forward @s0[1]
    // expected-error@+1 {{rank 0 has gradients of 1 chunk whole here for more than one micro-batch, more than the 0 of gathers<gradients>; leave `gathers` out, or the actions that move state}}
    pipe.backward @s0[1]
    pipe.reshard @s0[0]
    pipe.reduce_grad @s0[0]
  }
  pipe.rank 1 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] }
    pipe.reshard @s0[0]
    pipe.reduce_grad @s0[0]
  }
}
