// Orders that are written out become loops; the order stays.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll | FileCheck %s
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-roll --pipe-generate-schedules \
// RUN:   --pipe-verify-scheduled --pipe-verify-lowered -o %t
// RUN: rondo-opt %t --pipe-roll | diff %t -

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(3) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @mine of @step {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: pipe.input_grad @s1[%[[I]]]
// CHECK-NEXT: pipe.weight_grad @s1[%[[I]]]
// CHECK: pipe.link_order 0 -> 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s0[1] pipe.forward @s0[2]
    pipe.backward @s0[0] pipe.backward @s0[1] pipe.backward @s0[2]
  }
  pipe.rank 1 {
    pipe.forward @s1[0] pipe.input_grad @s1[0] pipe.weight_grad @s1[0]
    pipe.for %i = 1 to 3 { pipe.forward @s1[%i] pipe.input_grad @s1[%i] pipe.weight_grad @s1[%i] }
  }
  pipe.link_order 0 -> 1 { pipe.forward @s0[0] pipe.forward @s0[1] pipe.forward @s0[2] }
}

// Without a body there is nothing to roll.
// CHECK-LABEL: pipe.schedule @later of @step family<"1f1b">
// CHECK-NOT: {
pipe.schedule @later of @step family<"1f1b">

// The rest of a program stays.
// CHECK-LABEL: pipe.program @reference of @mine sequential attributes {note = "by hand"} {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: pipe.backward @s1[%[[I]]]
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
pipe.program @reference of @mine sequential attributes {note = "by hand"} {
  pipe.rank 0 {
    pipe.forward @s0[0] pipe.forward @s1[0] pipe.backward @s1[0] pipe.backward @s0[0]
    pipe.forward @s0[1] pipe.forward @s1[1] pipe.backward @s1[1] pipe.backward @s0[1]
    pipe.forward @s0[2] pipe.forward @s1[2] pipe.backward @s1[2] pipe.backward @s0[2]
  }
}
