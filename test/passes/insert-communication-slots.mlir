// A channel with one receive slot posts one receive at a time; a link order is
// the order of both ends.
// RUN: rondo-opt %s --pipe-schedule --pipe-insert-communication --pipe-verify-lowered | FileCheck %s

pipe.cluster @lab channels<eager, receive_slots = 1> { pipe.device @d0 pipe.device @d1 }
pipe.cluster @wide { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4000, input_grad_ns = 1000, weight_grad_ns = 1000>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.plan @wide_step of @timed on @wide microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// Rank 0 is fast: all of its messages arrive before rank 1 has finished with
// the first. Each waits for the slot.
// CHECK-LABEL: pipe.program @narrow_lowered
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.recv activation @s0[%[[I]]]
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: }
pipe.schedule @narrow of @step family<"gpipe">

// Without a bound all are posted before the forward during which they arrive.
// CHECK-LABEL: pipe.program @free_lowered
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.recv activation @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
pipe.schedule @free of @wide_step family<"gpipe">

// CHECK-LABEL: pipe.program @reversed_lowered
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.send activation @s0[-%[[I]] + 3]
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: pipe.recv activation @s0[-%[[I]] + 3]
// CHECK-NEXT: pipe.forward @s1[-%[[I]] + 3]
pipe.schedule @reversed of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 4 { pipe.forward @s1[3 - %i] }
    pipe.for %i = 0 to 4 { pipe.backward @s1[%i] }
  }
  pipe.link_order 0 -> 1 { pipe.for %i = 0 to 4 { pipe.forward @s0[3 - %i] } }
}
