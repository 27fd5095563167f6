// Only the pass, without the boundaries before it.
// RUN: rondo-opt %s --pipe-insert-communication -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @below {{the costs of stage @s0 are not known}}
// expected-note @below {{write costs<...>, or let pipe-resolve-stages estimate them}}
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @main of @step { pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] } }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
      activation_bytes = 0, input_grad_frees_bytes = 0, output_bytes = 0>
  // expected-note @below {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
      activation_bytes = 0, input_grad_frees_bytes = 0, output_bytes = 0>
}
pipe.schedule @main of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  // expected-error @below {{1B0, or 1I0 and 1W0, is missing on rank 1 [S1]}}
  pipe.rank 1 { pipe.forward @s1[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @below {{@main_evaluation is here}}
pipe.plan @main_evaluation of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
      activation_bytes = 0, input_grad_frees_bytes = 0, output_bytes = 0>
  pipe.stage @s1 [@l1] on 1 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
      activation_bytes = 0, input_grad_frees_bytes = 0, output_bytes = 0>
}
// expected-error @below {{schedule @main is lowered to a program @main_evaluation, but that name is taken}}
pipe.schedule @main of @main_evaluation {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s1[0] pipe.backward @s1[0] }
}
