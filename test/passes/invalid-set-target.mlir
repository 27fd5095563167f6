// Sizes of one target differ from those of another.
// RUN: rondo-opt %s --pipe-set-target="target=cuda dtype=bf16" -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has the sizes of target cpu in fp32, which differ on cuda in bf16: leave its buffers out}}
  pipe.stage @s0 [@l0] on 0 buffers<weights = 64>
}

// -----

// A module resolved for the same target may be compiled again.
pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@l0] on 0 buffers<weights = 64>
}
