// Only the pass, on a program that has not been proved.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-plan-memory -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, output_bytes = 8>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">
// expected-error @below {{1F0 at position 1 of rank 0 belongs on rank 1, where stage 1 is [L1]}}
pipe.program @misplaced of @main evaluation {
  pipe.rank 0 { pipe.forward @s0[0] pipe.forward @s1[0] }
}
