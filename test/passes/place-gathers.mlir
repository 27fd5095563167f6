// Positions of gathers, frees and reductions.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s

pipe.cluster @four link<latency_ns = 10, bytes_per_us = 1000> {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
}
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, weight_bytes = 256>
  pipe.layer @l1 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, weight_bytes = 256>
  pipe.layer @l2 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, weight_bytes = 256>
  pipe.layer @l3 synthetic<forward_ns = 200, input_grad_ns = 200, weight_grad_ns = 200, weight_bytes = 256>
}
// Each replica has a half of the 256 bytes of weights, and gathers all.
// CHECK: pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
// CHECK-SAME: buffers[<weights = 128, gradients = 128, moments = 256
// CHECK-SAME: gathered_weights = 256, unreduced_gradients = 256>
pipe.plan @step of @toy on @four microbatches(2) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
  pipe.stage @s1 [@l1] on [2, 3] sharded<weights>
  pipe.stage @s2 [@l2] on [0, 1] sharded<weights>
  pipe.stage @s3 [@l3] on [2, 3] sharded<weights>
}

// One chunk at a time.
// CHECK-LABEL: pipe.schedule @one of @step
// CHECK:       pipe.rank 0 {
// CHECK-NEXT:    pipe.unshard @s0[0]
// CHECK-NEXT:    pipe.forward @s0[0]
// CHECK-NEXT:    pipe.forward @s0[1]
// CHECK-NEXT:    pipe.reshard @s0[0]
// CHECK-NEXT:    pipe.unshard @s2[0]
// CHECK:         pipe.weight_grad @s2[1]
// CHECK-NEXT:    pipe.reshard @s2[1]
// CHECK-NEXT:    pipe.reduce_grad @s2[0]
// CHECK-NEXT:    pipe.unshard @s0[2]
// CHECK:         pipe.reshard @s0[2]
// CHECK-NEXT:    pipe.reduce_grad @s0[0]
// CHECK-NEXT:  }
pipe.schedule @one of @step family<"blockwise", u = 2> gathers<weights = 1, gradients = 1>

// Default: with both chunks gathered, nothing waits, so that is chosen and
// written into the schedule.
// CHECK-LABEL: pipe.schedule @auto of @step
// CHECK-SAME:  gathers<weights = 2, gradients = 1>
// CHECK:       pipe.rank 0 {
// CHECK-NEXT:    pipe.unshard @s0[0]
// CHECK-NEXT:    pipe.unshard @s2[0]
pipe.schedule @auto of @step family<"blockwise", u = 2>

// Rule of units: the last chunk stays for its backwards, and the first is gathered
// again while those run. The size of the family's units is written down.
// CHECK-LABEL: pipe.schedule @unit of @step family<"blockwise", u = 0> gathers<rule = unit, unit = 2>
// CHECK:       pipe.rank 0 {
// CHECK-NEXT:    pipe.unshard @s0[0]
// CHECK-NEXT:    pipe.unshard @s2[0]
// CHECK-NEXT:    pipe.forward @s0[0]
// CHECK-NEXT:    pipe.forward @s0[1]
// CHECK-NEXT:    pipe.reshard @s0[0]
// CHECK:         pipe.unshard @s0[1]
// CHECK-NEXT:    pipe.input_grad @s2[0]
// CHECK-NOT:     pipe.unshard
// CHECK:         pipe.weight_grad @s0[1]
// CHECK-NEXT:    pipe.reshard @s0[1]
// CHECK-NEXT:    pipe.reduce_grad @s0[0]
// CHECK-NEXT:  }
pipe.schedule @unit of @step family<"blockwise", u = 0> gathers<rule = unit>

// Orders without units: the stated size.
// CHECK-LABEL: pipe.schedule @stated of @step
// CHECK-SAME:  gathers<rule = unit, unit = 1>
pipe.schedule @stated of @step family<"interleaved-1f1b"> gathers<rule = unit, unit = 1>

// A number per rank: the second group gathers chunk after chunk.
// CHECK-LABEL: pipe.schedule @ranks of @step
// CHECK-SAME:  gathers<weights = [2, 2, 1, 1], gradients = 1>
// CHECK:       pipe.rank 0 {
// CHECK-NEXT:    pipe.unshard @s0[0]
// CHECK-NEXT:    pipe.unshard @s2[0]
// CHECK:       pipe.rank 2 {
// CHECK-NEXT:    pipe.unshard @s1[0]
// CHECK-NEXT:    pipe.forward @s1[0]
pipe.schedule @ranks of @step family<"blockwise", u = 2> gathers<weights = [2, 2, 1, 1], gradients = 1>

// The unit that is best here takes the place of auto.
// CHECK-LABEL: pipe.schedule @chosen of @step family<"blockwise", u = 2>
// CHECK-SAME:  gathers<weights = 2, gradients = 1>
pipe.schedule @chosen of @step family<"blockwise", u = auto>

// A hand-written order stays as it is.
// CHECK-LABEL: pipe.schedule @hand of @pair {
// CHECK:         pipe.unshard @s0[0]
// CHECK-NEXT:    pipe.forward @s0[0]
pipe.cluster @two { pipe.device @d0 pipe.device @d1 }
pipe.model @single {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 256>
}
pipe.plan @pair of @single on @two microbatches(1) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @hand of @pair {
  pipe.rank 0 { pipe.unshard @s0[0] pipe.forward @s0[0] pipe.backward @s0[0] pipe.reshard @s0[0] pipe.reduce_grad @s0[0] }
  pipe.rank 1 { pipe.unshard @s0[0] pipe.forward @s0[0] pipe.backward @s0[0] pipe.reshard @s0[0] pipe.reduce_grad @s0[0] }
}
