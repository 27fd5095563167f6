// The passes of the two pipelines, and that both phases can be read again.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --dump-pass-pipeline -o %t.lowered 2>&1 | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule | rondo-opt --pipe-schedule --pipe-lower | diff %t.lowered -
// RUN: rondo-opt %t.lowered --pipe-schedule --pipe-verify-lowered | diff %t.lowered -

// CHECK: builtin.module(
// CHECK-NEXT: pipe-resolve-stages,
// CHECK-NEXT: pipe-verify-partitioned,
// CHECK-NEXT: pipe-generate-schedules,
// CHECK-NEXT: pipe-search-schedules{effort=-1 seed=-1 time-limit-ms=-1},
// CHECK-NEXT: pipe-place-gathers,
// CHECK-NEXT: pipe-choose-candidates,
// CHECK-NEXT: pipe-verify-scheduled,
// CHECK-NEXT: pipe-insert-communication,
// CHECK-NEXT: pipe-plan-memory,
// CHECK-NEXT: pipe-verify-lowered
// CHECK-NEXT: )

pipe.cluster @lab link<latency_ns = 10> { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 100, input_grad_ns = 100, weight_grad_ns = 100, activation_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 100, input_grad_ns = 100, weight_grad_ns = 100>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"kfkb", k = 2>
