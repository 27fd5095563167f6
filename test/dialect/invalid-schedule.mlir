// Errors of the order in a schedule, if one op shows them.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

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
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s9 is not in plan @step}}
    pipe.for %i = 0 to 8 { pipe.forward @s9[%i] }
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

pipe.schedule @mine of @step {
  // expected-note @+1 {{first given here}}
  pipe.rank 0 { pipe.forward @s0[0] }
  // expected-error @+1 {{rank 0 is given twice}}
  pipe.rank 0 { pipe.forward @s0[1] }
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
  // expected-error @+1 {{rank -1 does not exist; ranks are numbered from 0}}
  pipe.rank -1 { pipe.forward @s0[0] }
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
  pipe.rank 0 {
    // expected-error @+1 {{'pipe.issue' does not belong here; a rank of a schedule holds tasks, copies, optimizer steps and loops}}
    pipe.issue @c0
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }

pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.step @s0[0]
    // expected-error @+1 {{step 1 does not exist; an iteration has 1 step, numbered from 0}}
    pipe.step @s0[1]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }

pipe.schedule @mine of @step {
  pipe.link_order 0 -> 1 {
    pipe.for %i = 0 to 1 {
      // expected-error @+1 {{'pipe.step' makes no message; a link's order names forward, input_grad, backward and recompute tasks}}
      pipe.step @s0
    }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-note @+1 {{plan @step is here}}
pipe.plan @step of @timed on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }

pipe.schedule @mine of @step {
  // expected-error @+1 {{stage @s7 is not in plan @step}}
  pipe.rank 0 { pipe.step @s7 }
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
  // expected-error @+1 {{'pipe.pool' op expects parent op 'pipe.program'}}
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 1, slots = 1>
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
  // expected-error @+1 {{'builtin.module' does not belong here; a schedule holds pipe.rank, pipe.link_order and pipe.copy_order}}
  builtin.module { }
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
  pipe.rank 0 {
    // expected-error @+1 {{step is 0; the minimum is 1}}
    pipe.for %i = 0 to 8 step 0 { pipe.forward @s0[%i] }
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{loop bound 10000000000 is out of range; the maximum is 1073741824}}
    pipe.for %i = 0 to 10000000000 { pipe.forward @s0[%i] }
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{loop bound -9223372036854775808 is out of range; the maximum is 1073741824}}
    pipe.for %i = -9223372036854775808 to 8 { pipe.forward @s0[%i] }
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 8 {
      // expected-error @+1 {{a micro-batch is a number or a sum of multiples of loop variables, such as %i * 2 + 3}}
      pipe.forward @s0[%i - 9223372036854775807 - 1]
    }
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 8 {
      // expected-error @+1 {{a micro-batch is a number or a sum of multiples of loop variables, such as %i * 2 + 3}}
      pipe.forward @s0[%i mod 4]
    }
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{a task has one micro-batch, not 2}}
    pipe.forward @s0[1, 2]
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

pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] }
  // expected-error @+1 {{invalid link 1 -> 1; a link joins two different ranks, numbered from 0}}
  pipe.link_order 1 -> 1 { pipe.forward @s0[0] }
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
  // expected-note @+1 {{first given here}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] }
  // expected-error @+1 {{the order of link 0 -> 1 is given twice}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] }
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
  pipe.link_order 0 -> 1 {
    // expected-error @+1 {{'pipe.weight_grad' makes no message; a link's order names forward, input_grad, backward and recompute tasks}}
    pipe.weight_grad @s0[0]
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

pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{expected '['}}
    pipe.forward @s0
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
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{region #0 ('body') failed to verify constraint: region with one variable of type index}}
    "pipe.for"() <{lower = 0 : i64, upper = 2 : i64}> ({
    ^bb0(%i: i32):
    }) : () -> ()
  }
}
