// Passes that write an order again keep the locations of its ops: an op that
// several roll into has all of their locations, and a message has that of its
// task.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ROLL
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-insert-communication --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PROGRAM
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-insert-communication --pipe-plan-memory --pipe-roll --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PROGRAM

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(3) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @mine of @step
// ROLL: pipe.for %[[I:.*]] = 0 to 3 {
// ROLL-NEXT: pipe.forward @s0[%[[I]]] loc(fused["f0", "f1", "f2"])
// ROLL-NEXT: } loc(fused["f0", "f1", "f2"])
// ROLL-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// ROLL-NEXT: pipe.backward @s0[%[[I]]] loc("b")
// ROLL-NEXT: } loc("loop")
// ROLL-NEXT: } loc("rank 0")
// ROLL: pipe.forward @s1[%{{.*}}] loc(fused["f of 0", "f of 1", "f of 2"])
// ROLL-NEXT: pipe.backward @s1[%{{.*}}] loc(fused["b of 0", "b of 1", "b of 2"])
// ROLL: } loc("rank 1")
// ROLL: pipe.link_order 0 -> 1 {
// ROLL: pipe.forward @s0[%{{.*}}] loc("message")
// ROLL-NEXT: } loc("messages")
// ROLL-NEXT: } loc("link")
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] loc("f0")
    pipe.forward @s0[1] loc("f1")
    pipe.forward @s0[2] loc("f2")
    pipe.for %i = 0 to 3 { pipe.backward @s0[%i] loc("b") } loc("loop")
  } loc("rank 0")
  pipe.rank 1 {
    pipe.forward @s1[0] loc("f of 0")
    pipe.backward @s1[0] loc("b of 0")
    pipe.forward @s1[1] loc("f of 1")
    pipe.backward @s1[1] loc("b of 1")
    pipe.forward @s1[2] loc("f of 2")
    pipe.backward @s1[2] loc("b of 2")
  } loc("rank 1")
  pipe.link_order 0 -> 1 {
    pipe.for %i = 0 to 3 { pipe.forward @s0[%i] loc("message") } loc("messages")
  } loc("link")
} loc("schedule")

// PROGRAM-LABEL: pipe.program @mine_sequential
// PROGRAM: pipe.forward @s0[%{{.*}}] loc(fused["f0", "f1", "f2"])
// PROGRAM-NEXT: pipe.forward @s1[%{{.*}}] loc(fused["f of 0", "f of 1", "f of 2"])
// PROGRAM-LABEL: pipe.program @mine_lowered
// PROGRAM: pipe.forward @s0[%{{.*}}] loc(fused["f0", "f1", "f2"])
// PROGRAM-NEXT: pipe.send activation @s0[%{{.*}}] loc(fused["f0", "f1", "f2"])
// PROGRAM: pipe.recv gradient @s1[%{{.*}}] loc("b")
// PROGRAM: } loc("schedule")
