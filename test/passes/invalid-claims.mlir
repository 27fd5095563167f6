// A schedule's claims about its versions must follow from its order; others are
// refused.
// RUN: rondo-opt %s --pipe-schedule -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
pipe.schedule @s of @step family<"pipedream"> claims<copies = [3, 2, 1], forward_delay = [2, 1, 0], backward_delay = [2, 1, 0], norm_delay = 2>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
pipe.schedule @s of @step family<"pipemare"> claims<copies = [1, 1, 1], forward_delay = [2, 1, 0], backward_delay = [0, 0, 0]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims that stage @s1 keeps at most 1 version of its weights; it is 2 versions; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipedream"> claims<copies = [3, 1, 1]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims that stage @s0 runs forwards at most 1 update late; it is 2 updates; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipemare"> claims<forward_delay = [1, 1, 0]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims that stage @s0 runs no forward late; it is 2 updates; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipemare"> claims<forward_delay = [0, 0, 0]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims that stage @s0 runs backwards at most 2 updates late; it is 0 updates; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipemare"> claims<backward_delay = [2, 1, 0]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{this is the plan}}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims copies of 2 stages; its plan has 3}}
pipe.schedule @s of @step family<"pipedream"> claims<copies = [3, 2]>

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{the schedule claims that the norm of all gradients is there 1 iteration later; it is 2; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipedream"> claims<norm_delay = 1>

// -----

// No message of the order takes the slow link, but the norm does.
pipe.cluster @lab {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.link @d2 -> @d0 <latency_ns = 1000>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 2
}
// expected-error @+1 {{clip(global): the norm of all gradients is there more than 3 iterations later, and the order has no more under way at once; shorter latencies or clip(stage) help}}
pipe.schedule @s of @step family<"pipedream"> clip(global)

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, output_bytes = 4>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, output_bytes = 4>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, output_bytes = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 recompute
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s1 [@l1] on 1 recompute across
  pipe.stage @s2 [@l2] on 2 recompute across
}
pipe.schedule @holds of @step family<"pipemare"> versions<forward = live, backward = extrapolated, activations = live> claims<recompute_delay = [2, 1, 0]>
// expected-error @+1 {{the schedule claims that stage @s1 recomputes at most 2 updates late; it is 1 update; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipemare"> versions<forward = live, backward = extrapolated, activations = live> claims<recompute_delay = [2, 2, 0]>

// -----

// A stage without R has no delay of it.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-note @+1 {{this is the stage}}
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @holds of @step family<"pipedream"> claims<recompute_delay = [0, 0]>
// expected-error @+1 {{the schedule claims that stage @s0 recomputes at most 1 update late; it is 0 updates; claim what is, or change the order [S8]}}
pipe.schedule @s of @step family<"pipedream"> claims<recompute_delay = [1, 0]>
