// A plan that no order fits.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-search-schedules -verify-diagnostics

pipe.cluster @lab {
  pipe.device @d0
  // expected-note @below {{rank 1 is device @d1}}
  pipe.device @d1 <memory_bytes = 3>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 5>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @below {{no schedule fits: rank 1 may hold 3 bytes, but one micro-batch of its stages takes 5 bytes, 2 more}}
pipe.schedule @auto of @step search<>
