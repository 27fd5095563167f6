// Messages are expensive, so the best family takes micro-batches backwards. A
// search takes it only if the schedule allows that.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s

// The same for a module that a search of plans writes.
// RUN: rondo search %s --microbatches 8 --effort 2 -o %t.mlir
// RUN: rondo verify %t.mlir
// RUN: rondo search %s --microbatches 8 --effort 2 -o %t.jsonl
// RUN: FileCheck %s --input-file=%t.jsonl --check-prefix=ANY
// ANY: "family":"looped-bfs"

pipe.cluster @lab link<latency_ns = 100> { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 10, input_grad_ns = 10, weight_grad_ns = 10>
  pipe.layer @l1 synthetic<forward_ns = 10, input_grad_ns = 10, weight_grad_ns = 10>
  pipe.layer @l2 synthetic<forward_ns = 10, input_grad_ns = 10, weight_grad_ns = 10>
  pipe.layer @l3 synthetic<forward_ns = 10, input_grad_ns = 10, weight_grad_ns = 10>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 0
  pipe.stage @s3 [@l3] on 1
}

// CHECK-LABEL: pipe.schedule @exact of @step search<effort = 2> found<
// CHECK-NOT: looped-bfs
// CHECK-SAME: makespan_ns =
pipe.schedule @exact of @step search<effort = 2>

// CHECK-LABEL: pipe.schedule @any of @step search<effort = 2> found<origin = "looped-bfs", makespan_ns = 930,
pipe.schedule @any of @step search<effort = 2> accumulate(schedule_order)
