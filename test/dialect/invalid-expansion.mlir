// Errors that appear when loops are unrolled.
// RUN: rondo-opt %s -pipe-schedule -pipe-verify-lowered -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step has 8 micro-batches, numbered from 0}}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{micro-batch 8 does not exist}}
    pipe.for %i = 0 to 8 { pipe.forward @s0[%i + 1] }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step has 8 micro-batches, numbered from 0}}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] }
  // expected-error @+1 {{micro-batch -1 does not exist}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[-1] }
}

// -----

// expected-note @+1 {{there are 2 ranks, numbered from 0}}
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @+1 {{rank 2 does not exist}}
  pipe.rank 2 { pipe.forward @s0[0] }
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
pipe.schedule @mine of @step {
  // expected-error @+1 {{more than 134217728 actions up to here; check the bounds of its loops}}
  pipe.rank 0 {
    pipe.for %i = 0 to 1000000000 {
      pipe.for %j = 0 to 1000000000 {
        pipe.for %k = 0 to 1000000000 { pipe.forward @s0[0] }
      }
    }
  }
}

// -----

// Loops without actions end at once.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-note @+1 {{stage @s0 is on rank 0}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @+1 {{[S1]}}
  pipe.rank 0 {
    pipe.for %i = 0 to 1000000000 { pipe.for %j = 0 to 1000000000 { } }
    pipe.for %i = 8 to 0 { pipe.forward @s0[0] }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">
pipe.program @main of @mine pipeline {
  pipe.rank 1 {
    // expected-error @+1 {{no other stage needs the activation of stage @s1}}
    pipe.send activation @s1[0]
  }
}
