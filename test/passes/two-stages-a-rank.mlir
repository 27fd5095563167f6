// Two stages a rank in a V: stages 1 and 2 hand over on rank 1, and one queue
// from rank 1 to rank 0 carries activations of stage 2 and gradients of stage 1.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 64>
  pipe.layer @l2 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, output_bytes = 64>
  pipe.layer @l3 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
}
pipe.plan @step of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
  pipe.stage @s2 [@l2] on 1
  pipe.stage @s3 [@l3] on 0
}
pipe.schedule @v of @step {
  pipe.rank 0 {
    pipe.for %i = 0 to 2 { pipe.forward @s0[%i] }
    pipe.for %i = 0 to 2 {
      pipe.forward @s3[%i]
      pipe.backward @s3[%i]
    }
    pipe.for %i = 0 to 2 { pipe.backward @s0[%i] }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 {
      pipe.forward @s1[%i]
      pipe.forward @s2[%i]
    }
    pipe.for %i = 0 to 2 {
      pipe.backward @s2[%i]
      pipe.backward @s1[%i]
    }
  }
}

// CHECK-LABEL: pipe.program @v_sequential of @v sequential
// State is at the same place in all three programs, in the arena of the rank
// that holds the stage.
// CHECK: pipe.pool @p0 on 0 <offset = 0, slot_bytes = [[CONTROL:[0-9]+]], slots = 1>
// CHECK-NEXT: pipe.pool @p1 on 1 <offset = 0, slot_bytes = [[CONTROL]], slots = 1>
// CHECK-NEXT: pipe.pool @p2 on 1 <offset = [[CONTROL]], slot_bytes = [[CONTROL]], slots = 1>
// CHECK-NEXT: pipe.pool @p3 on 0 <offset = [[CONTROL]], slot_bytes = [[CONTROL]], slots = 1>

// CHECK-LABEL: pipe.program @v_evaluation of @v evaluation
// CHECK: pipe.pool @p2 on 1 <offset = [[CONTROL]], slot_bytes = [[CONTROL]], slots = 1>

// CHECK-LABEL: pipe.program @v_lowered of @v pipeline arena [512, 576] {
// CHECK: pipe.pool @p2 on 1 <offset = [[CONTROL]], slot_bytes = [[CONTROL]], slots = 1>
// CHECK: pipe.pool @p4 on 0 <offset = 384, slot_bytes = 64, slots = 2>
// CHECK-NEXT: pipe.pool @p5 on 1 <offset = 384, slot_bytes = 64, slots = 3>
// Stage 2 reads where stage 1 on the same rank writes, and back.
// CHECK: pipe.place output @s1 in @p5 [[OUTPUT:.*]]
// CHECK-NEXT: pipe.place output_grad @s1 in @p5 [[GRAD:.*]]
// CHECK: pipe.place input @s2 in @p5 [[OUTPUT]]
// CHECK: pipe.place input_grad @s2 in @p5 [[GRAD]]
// CHECK: pipe.rank 1 {
// CHECK-NEXT: pipe.recv activation @s0[0]
// CHECK-NEXT: pipe.forward @s1[0]
// CHECK-NEXT: pipe.recv activation @s0[1]
// CHECK-NEXT: pipe.forward @s2[0]
// CHECK-NEXT: pipe.send activation @s2[0]
// CHECK-NEXT: pipe.forward @s1[1]
// CHECK-NOT: recv activation @s1
// CHECK-NOT: send gradient @s2
