// A search writes its order in loops, and its figures; a schedule with a body
// is left unchanged.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule > %t
// RUN: rondo-opt %t --pipe-schedule | diff %t -

// Options take precedence over the schedule's own; the same seed and effort
// give the same text.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-search-schedules="effort=3 seed=5" > %t.a
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-search-schedules="seed=5 effort=3 time-limit-ms=0" | diff %t.a -

pipe.cluster @lab link<latency_ns = 1> {
  pipe.device @d0 <memory_bytes = 4>
  pipe.device @d1 <memory_bytes = 4>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2, input_grad_frees_bytes = 1>
  pipe.layer @l1 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2, input_grad_frees_bytes = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @auto of @step search<> found<
// CHECK-SAME: makespan_ns = 45, span_ns = 45, lower_bound_ns = 45, bound = "L6", proven_optimal = true, stopped = optimal> {
pipe.schedule @auto of @step search<>

// CHECK-LABEL: pipe.schedule @span of @step search<objective = span, effort = 1000> found<
// CHECK-SAME: span_ns = 4
// CHECK-SAME: proven_optimal = true
pipe.schedule @span of @step search<objective = span, effort = 1000>

// CHECK-LABEL: pipe.schedule @frozen of @step search<> found<origin = "gpipe", makespan_ns = 1, span_ns = 1, lower_bound_ns = 1, bound = "L1", stopped = time> {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
pipe.schedule @frozen of @step search<>
    found<origin = "gpipe", makespan_ns = 1, span_ns = 1, lower_bound_ns = 1, bound = "L1", stopped = time> {
  pipe.rank 0 { pipe.for %i = 0 to 4 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// Many micro-batches without caps: the optimum is periodic and stays in loops.
pipe.cluster @wide { pipe.device @d0 pipe.device @d1 }
pipe.plan @long of @timed on @wide microbatches(200) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// CHECK-LABEL: pipe.schedule @many of @long search<effort = 100> found<
// CHECK-SAME: proven_optimal = true
// CHECK: pipe.rank 1 {
// CHECK: pipe.for %{{.*}} = {{[0-9]+}} to {{[0-9]+}} {
pipe.schedule @many of @long search<effort = 100>
