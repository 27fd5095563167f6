// Schedules that have no candidates: one whose own program does not fit, and one of
// iterations that overlap.
// RUN: rondo-opt %s --pipe-schedule -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1000, output_bytes = 8>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1000>
}
pipe.plan @p of @m on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @a of @p family<"gpipe">
// expected-error @+1 {{schedule @a does not run: }}
pipe.executable @train of [@a] adaptive<memory_bytes = 1500, effort = 1>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 8>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @m on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-note @+1 {{this is the schedule}}
pipe.schedule @a of @p family<"pipedream">
// expected-error @+1 {{iterations of schedule @a overlap; an adaptive executable changes its schedule between iterations, so its schedules end each of them: use one that drains, such as family<"1f1b">, or compile it without --adaptive}}
pipe.executable @train of [@a] adaptive<memory_bytes = 1500, effort = 1>
