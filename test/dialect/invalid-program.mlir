// Errors of a program, if one op shows them.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// expected-error @+1 {{unknown schedule @mine}}
pipe.program @main of @mine pipeline { }

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

// expected-error @+1 {{arena has -1 bytes}}
pipe.program @main of @mine pipeline arena [4096, -1] { }

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
  // expected-note @+1 {{see existing symbol definition here}}
  pipe.collective @norm gradient_norm [@s0]
  // expected-error @+1 {{redefinition of symbol named 'norm'}}
  pipe.collective @norm gradient_norm [@s1]
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
  // expected-error @+1 {{collective @c0 has no stages}}
  pipe.collective @c0 gradient_norm []
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
  // expected-error @+1 {{tied_gradients names its tensor; the other kinds name none}}
  pipe.collective @c0 tied_gradients [@s0]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">
pipe.program @main of @mine pipeline {
  // expected-error @+1 {{stage @s2 is not in plan @step}}
  pipe.collective @c0 gradient_norm [@s0, @s2]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">
pipe.program @main of @mine pipeline {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s7 is not in plan @step}}
    pipe.send activation @s7[0]
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
  pipe.rank 0 {
    // expected-error @+1 {{unknown collective @c0}}
    pipe.issue @c0
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
  pipe.rank 0 {
    // expected-error @+1 {{'builtin.module' does not belong here; a rank of a program holds tasks, copies, messages, collectives, optimizer steps and loops}}
    builtin.module { }
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
  // expected-error @+1 {{'builtin.module' does not belong here; a program holds collectives, pools, places and ranks}}
  builtin.module { }
}
