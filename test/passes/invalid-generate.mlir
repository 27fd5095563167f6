// Families that cannot write a schedule say why.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-generate-schedules -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @below {{this is the plan; families that apply: interleaved-1f1b, interleaved-zb, blockwise, zbv, zbv-auto, v-half, v-min, dualpipe-v, wave; search<effort = 1000> orders any stages}}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 0
}
// expected-error @below {{family '1f1b' does not apply: 1f1b needs one stage per rank in rank order; stage 1 is on rank 0}}
pipe.schedule @mine of @step family<"1f1b">

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @below {{there is no family '2f2b'; did you mean '1f1b'? there are gpipe, 1f1b,}}
pipe.schedule @mine of @step family<"2f2b">

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @below {{gpipe has no parameter 'k'; it takes none}}
pipe.schedule @mine of @step family<"gpipe", k = 1>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @below {{k of kfkb is 0; it must be 1 or more}}
pipe.schedule @mine of @step family<"kfkb", k = 0>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @below {{kfkb has no parameter 'groups'; it has k}}
pipe.schedule @mine of @step family<"kfkb", groups = 2>
