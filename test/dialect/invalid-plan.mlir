// Errors of a plan and its stages.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{unknown model @gpt}}
pipe.plan @step of @gpt on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @+1 {{unknown cluster @lab}}
pipe.plan @step of @timed on @lab microbatches(8) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @+1 {{microbatches is 0; it must be from 1 to 16777216}}
pipe.plan @step of @timed on @lab microbatches(0) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @+1 {{microbatches is 16777217; it must be from 1 to 16777216}}
pipe.plan @step of @timed on @lab microbatches(16777217) { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @+1 {{plan @step has no stages}}
pipe.plan @step of @timed on @lab microbatches(8) { }

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 has no layers}}
  pipe.stage @s0 [] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
// expected-note @+1 {{model @timed is here}}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{layer @h9 is not in model @timed}}
  pipe.stage @s0 [@l0, @h9] on 0
}

// -----

// expected-note @+1 {{cluster @lab is here}}
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 is on rank 2, but cluster @lab has 2 devices}}
  pipe.stage @s0 [@l0] on 2
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{stage @s0 is on rank -1; ranks are numbered from 0}}
  pipe.stage @s0 [@l0] on -1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{output_bytes is -6; the minimum is 0}}
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 2, input_grad_frees_bytes = 1, output_bytes = -6>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{input_grad_frees_bytes is 3, more than the activation_bytes of 2}}
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 2, input_grad_frees_bytes = 3, output_bytes = 0>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{saved_for_input_grad is -1; the minimum is 0}}
  pipe.stage @s0 [@l0] on 0 buffers<saved_for_input_grad = -1>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{the body of this 'pipe.plan'}}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{'builtin.module' does not belong here; this body holds pipe.stage}}
  builtin.module { }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  // expected-error @+1 {{unknown key 'speed'; the keys are }}
  pipe.stage @s0 [@l0] on 0 costs<speed = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @+1 {{target cpu takes fp32 only, not bf16}}
pipe.plan @step of @timed on @lab microbatches(8) target<cpu, bf16> { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @+1 {{target cpu has resident = 2, but messages of CPUs keep no multiprocessors while they wait: leave it out}}
pipe.plan @step of @timed on @lab microbatches(8) target<cpu, fp32, resident = 2> { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @+2 {{resident is -1; it must be 1 or more; without it, 16 may be in flight}}
// expected-error @+1 {{failed to parse}}
pipe.plan @step of @timed on @lab microbatches(8) target<cuda, fp32, resident = -1> { pipe.stage @s0 [@l0] on 0 }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
// expected-error @+1 {{resident is 65536; it must be from 1 to 65535, or left out}}
pipe.plan @step of @timed on @lab microbatches(8) target<cuda, fp32, resident = 65536> { pipe.stage @s0 [@l0] on 0 }

// -----

// expected-error @+1 {{expected one of cpu, cuda, not 'tpu'}}
pipe.plan @step of @timed on @lab microbatches(8) target<tpu, bf16> { pipe.stage @s0 [@l0] on 0 }

// -----

// expected-error @+1 {{expected one of fp32, bf16, not 'fp16'}}
pipe.plan @step of @timed on @lab microbatches(8) target<cuda, fp16> { pipe.stage @s0 [@l0] on 0 }

// -----

// expected-error @+1 {{expected one of adamw, sgd, plain_sgd, not 'adam'; did you mean adamw?}}
pipe.plan @step of @timed on @lab microbatches(8) optimizer(adam) { pipe.stage @s0 [@l0] on 0 }
