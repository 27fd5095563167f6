// Folding writes readable loops whose variable is a task's micro-batch.
// RUN: rondo-opt %s -pipe-schedule | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(12) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}

// CHECK-LABEL: pipe.schedule @one of @step family<"1f1b"> {
// CHECK-NEXT:    pipe.rank 0 {
// CHECK-NEXT:      pipe.forward @s0[0]
// CHECK-NEXT:      pipe.for %i = 1 to 12 {
// CHECK-NEXT:        pipe.forward @s0[%i]
// CHECK-NEXT:        pipe.backward @s0[%i - 1]
// CHECK-NEXT:      }
// CHECK-NEXT:      pipe.backward @s0[11]
// CHECK-NEXT:    }
pipe.schedule @one of @step family<"1f1b">

// Loops nest if groups are three or more.
// CHECK-LABEL: pipe.schedule @threes of @step family<"kfkb", k = 3> {
// CHECK:         pipe.rank 1 {
// CHECK-NEXT:      pipe.for %i = 0 to 12 step 3 {
// CHECK-NEXT:        pipe.for %j = 0 to 3 {
// CHECK-NEXT:          pipe.forward @s1[%i + %j]
// CHECK-NEXT:        }
// CHECK-NEXT:        pipe.for %j = 0 to 3 {
// CHECK-NEXT:          pipe.backward @s1[%i + %j]
pipe.schedule @threes of @step family<"kfkb", k = 3>
