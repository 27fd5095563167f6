// Ops with the same action, such as a task that a faulty order has twice, keep their own attributes and places when the
// order is written again.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: not rondo-opt %s --pipe-resolve-stages --pipe-roll --pipe-verify-scheduled 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FAULT --implicit-check-not=error:

// FAULT: error: loc("f0 again"): 0F0 appears twice: at position 0 of rank 0 and at position 2 of rank 0 [S1]
// FAULT: note: loc("f0"): 0F0 stands here

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @mine of @step
// CHECK: pipe.forward @s0[0] {first} loc("f0")
// CHECK-NEXT: pipe.forward @s0[1] loc("f1")
// CHECK-NEXT: pipe.forward @s0[0] {second} loc("f0 again")
// CHECK-NEXT: pipe.backward
// CHECK: } loc("rank 0")
// CHECK: pipe.forward @s1[1] loc("f of 1")
// CHECK: pipe.forward @s0[1] {elsewhere} loc("f1 of rank 1")
// CHECK-NEXT: } loc("rank 1")
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] {first} loc("f0")
    pipe.forward @s0[1] loc("f1")
    pipe.forward @s0[0] {second} loc("f0 again")
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] loc("b") }
  } loc("rank 0")
  pipe.rank 1 {
    pipe.forward @s1[0] loc("f of 0")
    pipe.backward @s1[0] loc("b of 0")
    pipe.forward @s1[1] loc("f of 1")
    pipe.backward @s1[1] loc("b of 1")
    pipe.forward @s0[1] {elsewhere} loc("f1 of rank 1")
  } loc("rank 1")
}

// CHECK-LABEL: pipe.program @awaits of @mine
// CHECK: pipe.await @norm {first} loc("await")
// CHECK-NEXT: pipe.await @norm {second} loc("await again")
// CHECK-NEXT: pipe.step @s0
pipe.program @awaits of @mine sequential {
  pipe.collective @norm gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @norm
    pipe.await @norm {first} loc("await")
    pipe.await @norm {second} loc("await again")
    pipe.step @s0
    pipe.step @s1
  }
}
