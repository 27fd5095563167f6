// Iterations that overlap: what is read is written again.
// RUN: rondo-opt %s | FileCheck %s
// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// RUN: rondo-opt %s --mlir-print-op-generic | rondo-opt | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK: pipe.schedule @family of @step family<"timeprest">{{$}}
pipe.schedule @family of @step family<"timeprest">
// CHECK: versions<"pipemare">{{$}}
pipe.schedule @named of @step family<"pipedream"> versions<"pipemare">
// Policies with a name are written as the name.
// CHECK: versions<"2bw">{{$}}
pipe.schedule @spelled of @step family<"pipedream"> versions<forward = minibatch, backward = stashed>
// CHECK: versions<"pipedream", most_delay = 3>{{$}}
pipe.schedule @limited of @step family<"pipedream"> versions<"pipedream", most_delay = 3>
// CHECK: versions<"synchronous">{{$}}
pipe.schedule @synchronous of @step family<"1f1b"> versions<"synchronous">
// CHECK: versions<forward = live, backward = live>{{$}}
pipe.schedule @newest of @step family<"pipedream"> versions<forward = live, backward = live>
// CHECK: versions<forward = live, backward = live, most_delay = 1>{{$}}
pipe.schedule @most of @step family<"pipedream"> versions<backward = live, most_delay = 1>
// CHECK: versions<forward = vertical, backward = committed, activations = recompute>{{$}}
pipe.schedule @again of @step family<"timeprest"> versions<"timeprest", activations = recompute>
// CHECK: versions[<"pipedream">, <"pipemare">]{{$}}
pipe.schedule @mixed of @step family<"pipedream"> versions[<"pipedream">, <"pipemare">]

// CHECK: pipe.schedule @clipped of @step family<"pipedream"> clip(global){{$}}
pipe.schedule @clipped of @step family<"pipedream"> clip(global)
// Defaults are not written.
// CHECK: pipe.schedule @by_stage of @step family<"pipedream">{{$}}
pipe.schedule @by_stage of @step family<"pipedream"> clip(stage)

// CHECK: pipe.schedule @claims of @step family<"pipedream"> claims<copies = [2, 1], backward_delay = [1, 0], recompute_delay = [0, 0], norm_delay = 1>{{$}}
pipe.schedule @claims of @step family<"pipedream"> claims<norm_delay = 1, recompute_delay = [0, 0], copies = [2, 1], backward_delay = [1, 0]>

// CHECK: pipe.schedule @hand of @step versions<"pipedream"> {
pipe.schedule @hand of @step versions<"pipedream"> {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // CHECK: pipe.repeat %[[T:.*]] {
    pipe.repeat %t {
      // CHECK: pipe.for %[[I:.*]] = 0 to 4 {
      pipe.for %i = 0 to 4 {
        // CHECK: pipe.forward @s0[%[[T]] * 4 + %[[I]] + 1]
        pipe.forward @s0[%t * 4 + %i + 1]
        pipe.backward @s0[%t * 4 + %i]
      }
      // CHECK: pipe.step @s0[%[[T]]]
      pipe.step @s0[%t]
    }
  }
  pipe.rank 1 {
    pipe.repeat %t {
      pipe.for %i = 0 to 4 { pipe.forward @s1[%t * 4 + %i] }
      // CHECK: pipe.backward @s1[%{{.*}} * 4] count(4)
      pipe.backward @s1[%t * 4] count(4)
      pipe.step @s1[%t]
    }
  }
}

// CHECK: pipe.schedule @two of @step versions<"pipedream"> {
pipe.schedule @two of @step versions<"pipedream"> {
  pipe.rank 0 {
    // CHECK: pipe.repeat %{{.*}} step 2 {
    pipe.repeat %t step 2 {
      // CHECK: pipe.step @s0[%{{.*}} + 1]
      pipe.step @s0[%t + 1]
    }
  }
}

// CHECK: pipe.program @lowered
pipe.program @lowered of @two pipeline {
  pipe.collective @c0 replica_gradients [@s0]
  // CHECK: pipe.collective @c1 gradient_norm [@s0, @s1] ns = 5 later = 2
  pipe.collective @c1 gradient_norm [@s0, @s1] ns = 5 later = 2
  // CHECK: pipe.issue @c0[%{{.*}}]
  // CHECK: pipe.await @c0[%{{.*}}]
  pipe.rank 0 { pipe.repeat %t step 2 { pipe.issue @c0[%t] pipe.await @c0[%t] } }
}
