// Attributes that rolling an order would lose.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{attribute 'note' of pipe.for would be lost, because loops are written again; put it on the ops in the loop, or remove it}}
    pipe.for %i = 0 to 2 attributes {note = "hot"} { pipe.forward @s0[%i] pipe.backward @s0[%i] }
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @mine of @step family<"gpipe">
pipe.program @reference of @mine sequential {
  pipe.rank 0 {
    // expected-error @+1 {{attribute 'note' of pipe.for would be lost}}
    pipe.for %i = 0 to 2 attributes {note = "hot"} { pipe.forward @s0[%i] pipe.backward @s0[%i] }
  }
}
