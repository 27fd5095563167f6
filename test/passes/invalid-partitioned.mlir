// The rules of a partition, each broken alone. P2 is a local rule of the
// dialect.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-partitioned -split-input-file -verify-diagnostics

// P1: twice.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-note @below {{it is here as well}}
  pipe.stage @s0 [@l0, @l1] on 0
  // expected-error @below {{layer @l1 is in two stages [P1]}}
  pipe.stage @s1 [@l1] on 1
}

// -----

// P1: missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  // expected-note @below {{this is the layer}}
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @below {{layer @l2 is in no stage [P1]}}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// -----

// P1: out of order.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
// expected-note @below {{this is the model}}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-error @below {{layer @l1 comes where @l0 is due: stages are consecutive pieces in model order [P1]}}
  pipe.stage @s0 [@l1] on 0
  pipe.stage @s1 [@l0] on 1
}

// -----

// P3: the times of all micro-batches leave the core's range.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 70368744177664, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @below {{the times of all tasks and messages sum to 2^60 ns (36 years) or more [P3]}}
pipe.plan @step of @timed on @lab microbatches(16777215) { pipe.stage @s0 [@l0] on 0 }
