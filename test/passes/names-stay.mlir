// Collectives, pools and places keep their names, attributes and locations when the ranks of their program are written
// again. Pools that planning adds take free names.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=ROLL
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-plan-memory | FileCheck %s --check-prefix=PLAN

// ROLL-LABEL: pipe.program @placed
// ROLL: pipe.collective @norm gradient_norm [@s0, @s1] {note = "mine"} loc("itself")
// ROLL: pipe.pool @big on 0 <offset = 0, slot_bytes = 192, slots = 1> {note = "pool"} loc("its pool")
// ROLL: pipe.place control @s0 in @big [0] {note = "place"} loc("its place")
// ROLL: pipe.for
// ROLL: pipe.issue @norm {note = "issue"}
// ROLL: pipe.await @norm

// PLAN-LABEL: pipe.program @unplaced
// PLAN: pipe.collective @p0 gradient_norm [@s0, @s1]
// PLAN: pipe.pool @p1 on 0
// PLAN-NEXT: pipe.pool @p2 on 0
// PLAN: pipe.place weights @s0 in @p1 [0]
// PLAN: pipe.issue @p0

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.schedule @other of @step {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] } pipe.for %i = 0 to 2 { pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 2 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
pipe.program @placed of @mine sequential arena [192, 0] {
  pipe.collective @norm gradient_norm [@s0, @s1] {note = "mine"} loc("itself")
  pipe.pool @big on 0 <offset = 0, slot_bytes = 192, slots = 1> {note = "pool"} loc("its pool")
  pipe.place control @s0 in @big [0] {note = "place"} loc("its place")
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.backward @s0[0]
    pipe.forward @s0[1] pipe.forward @s1[1] pipe.backward @s1[1] pipe.backward @s0[1]
    pipe.issue @norm {note = "issue"}
    pipe.await @norm
    pipe.step @s0
    pipe.step @s1
  }
}
pipe.program @unplaced of @other pipeline {
  pipe.collective @p0 gradient_norm [@s0, @s1]
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.send activation @s0[%i] }
    pipe.for %i = 0 to 2 { pipe.recv gradient @s1[%i] pipe.backward @s0[%i] }
    pipe.issue @p0
    pipe.await @p0
    pipe.step @s0
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 {
      pipe.recv activation @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.send gradient @s1[%i]
    }
    pipe.issue @p0
    pipe.await @p0
    pipe.step @s1
  }
}
