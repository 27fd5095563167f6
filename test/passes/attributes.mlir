// Ops whose order is written again keep attributes of a user; only ops with the
// same ones roll into one.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll | FileCheck %s
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll | rondo-opt --pipe-roll | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(5) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @mine of @step
// CHECK-NEXT: pipe.rank 0 attributes {note = "first"} {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 5 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]] {note = "all"}
// CHECK-NEXT: }
// CHECK-NEXT: pipe.backward @s0[0]{{$}}
// CHECK-NEXT: pipe.backward @s0[1] {note = "slow"}
// CHECK-NEXT: pipe.for %[[I:.*]] = 2 to 5 {
// CHECK-NEXT: pipe.backward @s0[%[[I]]]{{$}}
// CHECK: pipe.link_order 0 -> 1 attributes {note = "wire"} {
pipe.schedule @mine of @step {
  pipe.rank 0 attributes {note = "first"} {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] {note = "all"} }
    pipe.forward @s0[2] {note = "all"}
    pipe.forward @s0[3] {note = "all"}
    pipe.forward @s0[4] {note = "all"}
    pipe.backward @s0[0]
    pipe.backward @s0[1] {note = "slow"}
    pipe.backward @s0[2]
    pipe.backward @s0[3]
    pipe.backward @s0[4]
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 5 { pipe.forward @s1[%i] pipe.backward @s1[%i] }
  }
  pipe.link_order 0 -> 1 attributes {note = "wire"} { pipe.for %i = 0 to 5 { pipe.forward @s0[%i] } }
}

// CHECK-LABEL: pipe.program @reference
// CHECK: pipe.backward @s1[0] {note = "last"}
// CHECK: pipe.for
// CHECK: pipe.backward @s1[%{{[^{]*$}}
pipe.program @reference of @mine sequential {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] {note = "last"} pipe.backward @s0[0]
    pipe.for %i = 1 to 5 { pipe.forward @s0[%i] pipe.forward @s1[%i] pipe.backward @s1[%i] pipe.backward @s0[%i] }
  }
}
