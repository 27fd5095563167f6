// The order of a program keeps its ops: what somebody has written out is not
// rolled into loops.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-insert-communication --pipe-plan-memory --pipe-verify-lowered | FileCheck %s

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
}
pipe.schedule @main of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 {
      pipe.forward @s0[%i]
      pipe.backward @s0[%i]
    }
  }
}
// CHECK-LABEL: pipe.program @by_hand
// CHECK-SAME: arena [{{[0-9]+}}]
// CHECK: pipe.pool @p0
// CHECK: pipe.place
// CHECK: pipe.rank 0 {
// CHECK-NEXT: pipe.forward @s0[0]
// CHECK-NEXT: pipe.backward @s0[0]
// CHECK-NEXT: pipe.forward @s0[1]
// CHECK-NEXT: pipe.backward @s0[1]
// CHECK-NEXT: }
pipe.program @by_hand of @main pipeline {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.backward @s0[0]
    pipe.forward @s0[1]
    pipe.backward @s0[1]
  }
}
