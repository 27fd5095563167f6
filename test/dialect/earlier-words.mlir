// Words of earlier modules are read, and written as the current ones.
// RUN: rondo-opt %s | FileCheck %s
// RUN: rondo-opt %s | rondo-opt | FileCheck %s

// CHECK: pipe.nic @eth [@d0, @d1] <bytes_per_us = 100>
pipe.cluster @four {
  pipe.device @d0
  pipe.device @d1
  pipe.device @d2
  pipe.device @d3
  pipe.card @eth [@d0, @d1] <bytes_per_us = 100>
}
pipe.model @toy {
  // CHECK: pipe.layer @l0 synthetic<{{.*}}> costs<samples = [1, 2], forward_ns = [1, 2], input_grad_ns = [3, 4], weight_grad_ns = [5, 6]>
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2> costs<samples = [1, 2], forwards_ns = [1, 2], input_grads_ns = [3, 4], weight_grads_ns = [5, 6]>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
}
// CHECK: pipe.stage @s0 [@l0] on [0, 1, 2, 3] sharded<weights, shards = 2>
// CHECK: pipe.stage @s1 [@l1] on [2, 3] round_robin
pipe.plan @step of @toy on @four microbatches(2) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1, 2, 3] sharded<weights, pieces = 2>
  pipe.stage @s1 [@l1] on [2, 3] deal
}
pipe.schedule @order of @step family<"gpipe">
// CHECK: pipe.collective @c0 replica_gradients [@s1]
// CHECK: pipe.collective @c1 gather_weights [@s0, @s0] replicas [2, 3]
pipe.program @main of @order pipeline arena [64, 64, 64, 64] {
  pipe.collective 0 home_gradients [@s1]
  pipe.collective 1 gather_weights [@s0, @s0] homes [2, 3]
  // CHECK: pipe.pool @p0 on 2 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool 0 on 2 <offset = 0, slot_bytes = 64, slots = 1>
  // CHECK: pipe.place weights @s1 in @p0 [0]
  pipe.place weights @s1 in 0 [0]
  pipe.rank 2 {
    // CHECK: pipe.issue @c0
    // CHECK: pipe.await @c0
    pipe.all_reduce 0
    pipe.await 0
  }
}
