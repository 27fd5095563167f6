// S1: every replica runs every micro-batch, on its rank alone.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-verify-scheduled -split-input-file -verify-diagnostics

// Nothing is wrong here.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on 2
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 2 {
    pipe.forward @s1[0] pipe.forward @s1[1] pipe.backward @s1[0] pipe.backward @s1[1]
  }
}

// -----

// S1: a replica does not run a micro-batch.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  // expected-note @below {{stage @s0 is on ranks 0 and 1}}
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on 2
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  // expected-error @below {{0B1, or 0I1 and 0W1, is missing on rank 1 [S1]}}
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0]
  }
  pipe.rank 2 {
    pipe.forward @s1[0] pipe.forward @s1[1] pipe.backward @s1[0] pipe.backward @s1[1]
  }
}

// -----

// A replica runs on another one's rank.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on 2
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0]
    // expected-error @below {{replica 0 of stage @s0 is on rank 0, not on rank 1, whose order this is}}
    pipe.backward @s0:0[1]
  }
  pipe.rank 2 {
    pipe.forward @s1[0] pipe.forward @s1[1] pipe.backward @s1[0] pipe.backward @s1[1]
  }
}

// -----

// S1: a rank runs a task of a stage that has no replica on it.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on 2
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-note @below {{0F1 stands here}}
    pipe.forward @s0[1]
    pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 1 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.backward @s0[0] pipe.backward @s0[1]
  }
  pipe.rank 2 {
    pipe.forward @s1[0] pipe.forward @s1[1] pipe.backward @s1[0] pipe.backward @s1[1]
    // expected-error @below {{0F1 appears twice: at position 1 of rank 0 and at position 4 of rank 2 [S1]}}
    pipe.forward @s0[1]
  }
}
