// RUN: rondo-opt %s | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll | FileCheck %s

// In JSON and back.

// RUN: rondo export rondo-schedule %s --schedule mine -o %t.json --problem-output %t-problem.json
// RUN: FileCheck %s --check-prefix=JSON --input-file %t.json
// JSON: "copy_order":{"0":["1SAVE0","0SAVE0","0LOAD0","1LOAD0"]}
// RUN: rondo import rondo-schedule %t.json --problem %t-problem.json -o %t.mlir
// RUN: FileCheck %s --check-prefix=BACK --input-file %t.mlir
// RUN: rondo-opt %t.mlir --pipe-schedule | FileCheck %s --check-prefix=BACK

// The link carries the save of @s1 first, 4 us, although that of @s0 is ready earlier.

// RUN: rondo simulate %s | FileCheck %s --check-prefix=TIMES
// RUN: %edit '/pipe.copy_order/d' < %s > %t-free.mlir
// RUN: rondo simulate %t-free.mlir | FileCheck %s --check-prefix=FREE
// TIMES: @mine {{.*}} 31 us
// FREE: @mine {{.*}} 24 us

// A program has the order of its schedule.

// RUN: rondo compile %s --schedule mine --emit=cpp -o %t.cpp
// RUN: FileCheck %s --check-prefix=PROGRAM --input-file %t.cpp
// PROGRAM: constexpr CopyDesc copies_0[] = {
// PROGRAM-NEXT: {rondo::ActionKind::Save, 0, 0, 1},
// PROGRAM: constexpr CopyDesc copies_1[] = {
// PROGRAM-NEXT: {rondo::ActionKind::Save, 1, 0, 0},

pipe.cluster @lab {
  pipe.device @d0 <host_link = <latency_ns = 0, bytes_per_us = 1>>
  pipe.device @d1 <host_link = <latency_ns = 0, bytes_per_us = 1>>
  pipe.host_link [@d0, @d1] <bytes_per_us = 1>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 3000, input_grad_ns = 3000, weight_grad_ns = 3000, activation_bytes = 4>
  pipe.layer @l1 synthetic<forward_ns = 3000, input_grad_ns = 3000, weight_grad_ns = 3000, activation_bytes = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0 offload
  pipe.stage @s1 [@l1] on 1 offload
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.save @s0[0] pipe.load @s0[0] pipe.input_grad @s0[0] pipe.weight_grad @s0[0] }
  pipe.rank 1 { pipe.forward @s1[0] pipe.save @s1[0] pipe.load @s1[0] pipe.input_grad @s1[0] pipe.weight_grad @s1[0] }
  // CHECK: pipe.copy_order 0 attributes {note = "switch"} {
  // CHECK-NEXT: pipe.save @s1[0]
  // CHECK-NEXT: pipe.save @s0[0]
  // CHECK-NEXT: pipe.load @s0[0]
  // CHECK-NEXT: pipe.load @s1[0]
  // BACK: pipe.copy_order 0 {
  // BACK-NEXT: pipe.save @{{.*}}1[0]
  pipe.copy_order 0 attributes {note = "switch"} { pipe.save @s1[0] pipe.save @s0[0] pipe.load @s0[0] pipe.load @s1[0] }
}
