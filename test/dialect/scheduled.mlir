// Schedules: families, bodies, loops and their indices.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK: pipe.schedule @by_family of @step family<"1f1b">{{$}}
pipe.schedule @by_family of @step family<"1f1b">
// CHECK: pipe.schedule @with_argument of @step family<"kfkb", k = 2>{{$}}
pipe.schedule @with_argument of @step family<"kfkb", k = 2>

// A search: everything has a default, and values equal to it are not printed.
// CHECK: pipe.schedule @searched of @step search<>{{$}}
pipe.schedule @searched of @step search<>
// CHECK: pipe.schedule @defaults of @step search<>{{$}}
pipe.schedule @defaults of @step search<objective = makespan, seed = 0>
// CHECK: pipe.schedule @no_limit of @step search<objective = span, time_limit_ms = 0, effort = 50, seed = 7>{{$}}
pipe.schedule @no_limit of @step search<seed = 7, effort = 50, time_limit_ms = 0, objective = span>

// A search's result is printed before the body.
// CHECK: pipe.schedule @found of @step search<effort = 10> found<origin = "steady-state", makespan_ns = 40, span_ns = 39, lower_bound_ns = 38, bound = "L1", stopped = exhausted> accumulate(schedule_order) {
pipe.schedule @found of @step search<effort = 10>
    found<origin = "steady-state", makespan_ns = 40, span_ns = 39, lower_bound_ns = 38, bound = "L1", stopped = exhausted>
    accumulate(schedule_order) { pipe.rank 0 { } }

// Both a family, as provenance, and a body.
// CHECK-LABEL: pipe.schedule @both of @step family<"gpipe"> accumulate(schedule_order) {
pipe.schedule @both of @step family<"gpipe"> accumulate(schedule_order) {
  // CHECK-NEXT: pipe.rank 1 {
  pipe.rank 1 {
    // CHECK-NEXT: pipe.forward @s1[7]
    pipe.forward @s1[7]
    // CHECK-NEXT: pipe.for %i = 0 to 4 {
    pipe.for %micro = 0 to 4 step 1 {
      // CHECK-NEXT: pipe.input_grad @s1[%i]
      pipe.input_grad @s1[%micro]
      // CHECK-NEXT: pipe.weight_grad @s1[%i - 1]
      pipe.weight_grad @s1[%micro - 1]
      // CHECK-NEXT: pipe.backward @s1[-%i + 7]
      pipe.backward @s1[7 - %micro]
    }
    // CHECK: pipe.for %i = -2 to 6 step 2 {
    pipe.for %i = -2 to 6 step 2 {
      // CHECK-NEXT: pipe.for %j = 0 to 2 {
      pipe.for %j = 0 to 2 {
        // CHECK-NEXT: pipe.forward @s1[%i * 3 + %j * 2 + 3]
        pipe.forward @s1[%i * 3 + 1 + %j * 2 + 2]
      }
    }
  }
  // CHECK: pipe.link_order 0 -> 1 {
  pipe.link_order 0 -> 1 {
    // CHECK-NEXT: pipe.for %i = 0 to 8 {
    // CHECK-NEXT: pipe.forward @s0[%i]
    pipe.for %i = 0 to 8 { pipe.forward @s0[%i] }
  }
}

// The default order of accumulation is not printed.
// CHECK-LABEL: pipe.schedule @default of @step {
pipe.schedule @default of @step accumulate(index_order) { pipe.rank 0 { } }
