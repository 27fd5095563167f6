// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// RUN: rondo-opt %s --mlir-print-op-generic | rondo-opt | FileCheck %s

pipe.cluster @four {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
}
pipe.model @toy {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
}
// CHECK: pipe.stage @s0 [@l0] on [0, 1, 2, 3] sharded<weights, shards = 2>
// CHECK: pipe.stage @s1 [@l1] on [0, 1, 2, 3] sharded<optimizer>
pipe.plan @step of @toy on @four microbatches(2) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1, 2, 3] sharded<weights, shards = 2>
  pipe.stage @s1 [@l1] on [0, 1, 2, 3] sharded<optimizer>
}
// CHECK: pipe.stage @s0 [@l0] on [0, 1] sharded<moments>
// CHECK: pipe.stage @s1 [@l1] on [0, 1, 2, 3] round_robin sharded<moments, shards = 2>
pipe.plan @zero_1 of @toy on @four microbatches(4) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1] sharded<moments>
  pipe.stage @s1 [@l1] on [0, 1, 2, 3] round_robin sharded<moments, shards = 2>
}
// CHECK: pipe.schedule @family of @step family<"gpipe"> gathers<weights = 2, gradients = 1>
pipe.schedule @family of @step family<"gpipe"> gathers<weights = 2, gradients = 1>
// CHECK: pipe.schedule @ranks of @step family<"gpipe"> gathers<weights = [2, 2, 1], gradients = 1>
pipe.schedule @ranks of @step family<"gpipe"> gathers<weights = [2, 2, 1], gradients = 1>
// CHECK: pipe.schedule @unit of @step family<"blockwise", u = auto> gathers<rule = unit>
pipe.schedule @unit of @step family<"blockwise", u = auto> gathers<rule = unit>
// CHECK: pipe.schedule @four_long of @step family<"gpipe"> gathers<rule = unit, unit = 4>
pipe.schedule @four_long of @step family<"gpipe"> gathers<rule = unit, unit = 4>
// CHECK: pipe.schedule @auto of @step family<"gpipe"> gathers<>
pipe.schedule @auto of @step family<"gpipe"> gathers<>

// CHECK-LABEL: pipe.schedule @hand
// CHECK:         pipe.unshard @s0[0]
// CHECK:         pipe.for %i = 0 to 2
// CHECK:           pipe.forward @s0[%i]
// CHECK:           pipe.reduce_grad @s0[%i]
// CHECK:         pipe.reshard @s0[0]
pipe.schedule @hand of @step {
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.for %i = 0 to 2 {
      pipe.forward @s0[%i]
      pipe.backward @s0[%i]
      pipe.reduce_grad @s0[%i]
    }
    pipe.reshard @s0[0]
  }
}

// CHECK-LABEL: pipe.program @lowered
// CHECK:         pipe.collective @c0 gather_weights [@s0, @s0] replicas [0, 1] ns = 5
// CHECK:         pipe.collective @c1 tied_gradients "wte" [@s0, @s1] replicas [1, 0] elements [16, 8]
// CHECK:         pipe.unshard @s0[0]
// CHECK:         pipe.await @c0
// CHECK:         pipe.reshard @s0[0]
pipe.program @lowered of @hand pipeline {
  pipe.collective @c0 gather_weights [@s0, @s0] replicas [0, 1] ns = 5
  pipe.collective @c1 tied_gradients "wte" [@s0, @s1] replicas [1, 0] elements [16, 8]
  pipe.rank 0 {
    pipe.unshard @s0[0]
    pipe.await @c0
    pipe.reshard @s0[0]
  }
}
