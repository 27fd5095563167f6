// Each family writes its order in loops and stays as provenance; a schedule
// with a body is left unchanged.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(6) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @all_forward of @step family<"gpipe"> {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 {
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
pipe.schedule @all_forward of @step family<"gpipe">

// CHECK-LABEL: pipe.schedule @one of @step family<"1f1b"> {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.forward @s0[0]
// CHECK-NEXT: pipe.for %[[I:.*]] = 1 to 6 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.backward @s0[%[[I]] - 1]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.backward @s0[5]
// CHECK-NEXT: }
// CHECK-NEXT: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 {
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: pipe.backward @s1[%[[I]]]
pipe.schedule @one of @step family<"1f1b">

// CHECK-LABEL: pipe.schedule @threes of @step family<"kfkb", k = 3> {
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 step 3 {
// CHECK-NEXT: pipe.for %[[J:.*]] = 0 to 3 {
// CHECK-NEXT: pipe.forward @s1[%[[I]] + %[[J]]]
pipe.schedule @threes of @step family<"kfkb", k = 3>

// Without an argument, k is 2.
// CHECK-LABEL: pipe.schedule @twos of @step family<"kfkb"> {
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 step 2 {
pipe.schedule @twos of @step family<"kfkb">

// CHECK-LABEL: pipe.schedule @split of @step family<"zb-h1"> {
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.forward @s1[0]
// CHECK-NEXT: pipe.input_grad @s1[0]
// CHECK-NEXT: pipe.for %[[I:.*]] = 1 to 6 {
// CHECK-NEXT: pipe.forward @s1[%[[I]]]
// CHECK-NEXT: pipe.input_grad @s1[%[[I]]]
// CHECK-NEXT: pipe.weight_grad @s1[%[[I]] - 1]
pipe.schedule @split of @step family<"zb-h1">

// CHECK-LABEL: pipe.schedule @changed of @step family<"gpipe"> {
// CHECK-NEXT: pipe.rank 0 {
// CHECK-NEXT: pipe.for %[[I:.*]] = 0 to 6 {
// CHECK-NEXT: pipe.forward @s0[%[[I]]]
// CHECK-NEXT: pipe.backward @s0[%[[I]]]
pipe.schedule @changed of @step family<"gpipe"> {
  pipe.rank 0 { pipe.for %i = 0 to 6 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
  pipe.rank 1 { pipe.for %i = 0 to 6 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}
