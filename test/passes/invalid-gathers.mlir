// Numbers of `gathers` that contradict the plan or each other.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(pipe-schedule,pipe-insert-communication,pipe-plan-memory)"

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(4) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<unit = 99> is more than the 4 micro-batches of an iteration; write 1 to 4, or leave it out}}
pipe.schedule @units of @step family<"blockwise", u = 2> gathers<rule = unit, unit = 99>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(4) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<ahead> has 1 chunks for rank 0, but of the 1 that a rank shares only 0 can be gathered ahead of their use; write 0, or leave it out}}
pipe.schedule @ahead of @step family<"blockwise", u = 2> gathers<weights = 1, ahead = 1>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64>
}
pipe.plan @step of @toy on @two microbatches(4) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<ahead> has 1 chunks for rank 0, but of the 0 that gathers<weights> keeps whole only 0 can be gathered ahead of their use; write 0, or leave it out}}
pipe.schedule @one_at_a_time of @step family<"looped-bfs"> gathers<weights = 0, ahead = 1>

// -----

pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @toy { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 64> }
pipe.plan @step of @toy on @two microbatches(4) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
// expected-error@+1 {{gathers<unit = 5> is more than the 4 micro-batches of an iteration; write 1 to 4}}
pipe.schedule @units of @step family<"gpipe"> gathers<rule = unit, unit = 5>
