// RUN: rondo-opt %s -split-input-file -verify-diagnostics
// Local rules of collectives, and kinds of actions that have no op.

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  pipe.collective @c0 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    // expected-error @+1 {{unknown collective @c1; did you mean @c0?}}
    pipe.await @c1
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{collective @c0 takes -1 ns; it must be 0 to 140737488355328}}
  pipe.collective @c0 gradient_norm [@s0, @s1] ns = -1
}
