// Stages that form a graph: messages and buffers by edge.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s --check-prefix=PLAN
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-schedule --pipe-lower -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 100, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 200, weight_bytes = 64>
  pipe.layer @l2 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 300, weight_bytes = 64>
}
// PLAN: pipe.stage @s0 [@l0] on 0{{$}}
// PLAN-NEXT: pipe.stage @s1 [@l1] on 1 from [@s0]
// PLAN-NEXT: pipe.stage @s2 [@l2] on 2 from [@s1, @s0]
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1 from [@s0]
  pipe.stage @s2 [@l2] on 2 from [@s1, @s0]
}
pipe.schedule @main of @step {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }  pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] }  pipe.for %i = 0 to 2 { pipe.backward @s1[%i] } }
  pipe.rank 2 { pipe.for %i = 0 to 2 { pipe.forward @s2[%i]  pipe.backward @s2[%i] } }
}

// One output serves both edges of @s0; inputs and gradients have their own
// places.
// CHECK-LABEL: pipe.program @main_lowered of @main pipeline
// CHECK-DAG: pipe.place input @s1 in @p[[INPUT:[0-9]+]]
// CHECK-DAG: pipe.place output @s0 in @p[[OUTPUT:[0-9]+]]
// CHECK-DAG: pipe.place input @s2 with @s1 in
// CHECK-DAG: pipe.place input @s2 with @s0 in
// CHECK-DAG: pipe.place input_grad @s2 with @s1 in
// CHECK-DAG: pipe.place input_grad @s2 with @s0 in
// CHECK-DAG: pipe.place output_grad @s0 with @s1 in
// CHECK-DAG: pipe.place output_grad @s0 with @s2 in
// CHECK-DAG: pipe.place output_grad @s1 in
// CHECK: pipe.rank 0 {
// CHECK: pipe.send activation @s0{{\[.*\]}} to @s1
// CHECK: pipe.send activation @s0{{\[.*\]}} to @s2
// CHECK: pipe.rank 2 {
// CHECK: pipe.recv activation @s{{[01]\[.*\]}}
// CHECK: pipe.send gradient @s2{{\[.*\]}} to @s1
// CHECK: pipe.send gradient @s2{{\[.*\]}} to @s0
