// Steps in orders, and the rules of orders that hold for them.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-scheduled -split-input-file -verify-diagnostics

// Nothing is wrong with this order; each of the others differs from it by little.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s2
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}

// -----

// Without the norm, stage 2 need not wait for stage 0.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step norm(none) {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.step @s2
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}

// -----

// S1: a stage has no step.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @below {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    // expected-note @below {{step of stage 2 stands here}}
    pipe.step @s2
    pipe.step @s0
  }
  // expected-error @below {{step of stage 1 is missing on rank 1, but step of stage 2 is at position 8 of rank 0; either every stage has a step or none [S1]}}
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
  }
}

// -----

// S1: a stage steps twice.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    // expected-note @below {{step of stage 2 stands here}}
    pipe.step @s2
    pipe.step @s0
    // expected-error @below {{step of stage 2 appears twice: at position 8 of rank 0 and at position 10 of rank 0 [S1]}}
    pipe.step @s2
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}

// -----

// S2: a step is not on its stage's rank.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @below {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s2
    pipe.step @s0
    // expected-error @below {{step of stage 1 is on rank 0, but stage 1 is on rank 1 [S2]}}
    pipe.step @s1
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
  }
}

// -----

// S3: a step before the last gradient of its stage.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    // expected-error @below {{step of stage 0 at position 6 of rank 0 comes before 0B1 at position 8, which it needs [S3]}}
    pipe.step @s0
    // expected-note @below {{0B1 stands here}}
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s2
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}

// -----

// S3: a step before a gradient that the norm reads.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
}
// expected-note @below {{a schedule with `norm(none)` after the plan name computes no norm; it trains with --clip 0}}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.forward @s2[%i] pipe.backward @s2[%i] }
    // expected-error @below {{step of stage 2 at position 6 of rank 0 comes before 0B1 at position 8, and waits for the gradient_norm, which reads its gradient [S3]}}
    pipe.step @s2
    // expected-note @below {{0B1 stands here}}
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.for %i = 0 to 2 { pipe.backward @s1[%i] }
    pipe.step @s1
  }
}
