// Each rule of a schedule, broken alone.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-scheduled -split-input-file -verify-diagnostics

// S1: a task is missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  // expected-note @below {{stage @s0 is on rank 0}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @below {{0B1, or 0I1 and 0W1, is missing on rank 0 [S1]}}
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.backward @s0[0] }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// -----

// S1: a task stands twice.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-note @below {{0F1 stands here}}
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    // expected-error @below {{0F1 appears twice: at position 1 of rank 0 and at position 2 of rank 0 [S1]}}
    pipe.forward @s0[1]
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// -----

// S1: B, and W besides.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    // expected-note @below {{0B0 stands here}}
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
    // expected-error @below {{0W0 at position 4 of rank 0 and 0B0 at position 2 of rank 0 both appear; a micro-batch has either B, or I and W [S1]}}
    pipe.weight_grad @s0[0]
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// -----

// S2: a task of the other rank.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @below {{stage @s1 is on rank 1}}
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @below {{1B1 is on rank 0, but stage 1 is on rank 1 [S2]}}
    pipe.backward @s1[1]
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] } pipe.backward @s1[0] }
}

// -----

// S3: I before its F.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step accumulate(schedule_order) {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @below {{0I1 at position 1 of rank 0 comes before 0F1 at position 2, which it needs [S3]}}
    pipe.input_grad @s0[1]
    // expected-note @below {{0F1 stands here}}
    pipe.forward @s0[1]
    pipe.weight_grad @s0[1]
    pipe.backward @s0[0]
  }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// -----

// S4: each rank waits for the other.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @below {{rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F1 of rank 0 at 1F1 [S4]}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-note @below {{rank 0 waits at 0B0 for 1B0 of rank 1}}
    pipe.backward @s0[0]
    pipe.forward @s0[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    // expected-note @below {{rank 1 waits at 1F1 for 0F1 of rank 0}}
    pipe.forward @s1[1]
    pipe.backward @s1[0]
    pipe.backward @s1[1]
  }
}

// -----

// S4 through a link order: the message that rank 1 needs comes after one that
// rank 0 makes later.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @below {{rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F0 of rank 0 at 1F0 (the link order puts it after 0F1) [S4]}}
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-note @below {{rank 0 waits at 0B0 for 1B0 of rank 1}}
    pipe.backward @s0[0]
    pipe.forward @s0[1]
    pipe.backward @s0[1]
  }
  pipe.rank 1 {
    // expected-note @below {{rank 1 waits at 1F0 for 0F0 of rank 0}}
    pipe.forward @s1[0]
    pipe.backward @s1[0]
    pipe.forward @s1[1]
    pipe.backward @s1[1]
  }
  pipe.link_order 0 -> 1 { pipe.forward @s0[1] pipe.forward @s0[0] }
}

// -----

// S5: the cap of rank 0 holds one micro-batch and a half.
// expected-note @below {{rank 0 is device @d0}}
pipe.cluster @lab { pipe.device @d0 <memory_bytes = 15> pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-error @below {{rank 0 holds 20 bytes at 0F1, 5 more than its 15 [S5]}}
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// -----

// S6: a message is missing.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-note @below {{rank 0 is here}}
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
  // expected-error @below {{0F1 is missing from the link order 0>1 [S6]}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] }
}

// -----

// S6: no message of that link.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  // expected-note @below {{rank 0 is here}}
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
  // expected-error @below {{0B0 at position 2 of the link order 0>1 is not a message of that link, or appears twice [S6]}}
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] }
}

// -----

// S7: gradients out of micro-batch order.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    // expected-note @below {{0B1 stands here}}
    pipe.backward @s0[1]
    // expected-error @below {{0B0 at position 3 of rank 0 comes after 0B1 at position 2; gradients are added in micro-batch order unless the schedule says accumulate(schedule_order) [S7]}}
    pipe.backward @s0[0]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.backward @s1[1]
    pipe.backward @s1[0]
  }
}

// -----

// The same order is accepted if its sums may differ in their last bits.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 10>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step accumulate(schedule_order) {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.backward @s0[1]
    pipe.backward @s0[0]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }
    pipe.backward @s1[1]
    pipe.backward @s1[0]
  }
}
