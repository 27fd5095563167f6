// Stages with several replicas: where they are, their samples and buffers, and how
// schedules and programs name them.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 8, input_grad_ns = 8, weight_grad_ns = 8>
  pipe.layer @l1 synthetic<forward_ns = 8, input_grad_ns = 8, weight_grad_ns = 8>
}

// Samples of a timed model divide its times.
// CHECK-LABEL: pipe.plan @equal of @timed on @lab microbatches(4) samples(8) {
pipe.plan @equal of @timed on @lab microbatches(4) samples(8) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on [0, 2] buffers[<weights = 64>, <weights = 64, workspace = 8>]
  pipe.stage @s0 [@l0] on [0, 2] buffers[<weights = 64>, <weights = 64, workspace = 8>]
  // CHECK-NEXT: pipe.stage @s1 [@l1] on [1, 3]
  pipe.stage @s1 [@l1] on [1, 3]
}

// One rank in brackets is one replica, and buffers of one replica need no list.
// CHECK-LABEL: pipe.plan @uneven
pipe.plan @uneven of @timed on @lab microbatches(4) samples(8) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on [3: 6, 1: 2]
  pipe.stage @s0 [@l0] on [3: 6, 1: 2] from []
  // CHECK-NEXT: pipe.stage @s1 [@l1] on 2 from [@s0] costs<{{.*}}> buffers<weights = 64>
  pipe.stage @s1 [@l1] on [2] from [@s0] costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 1, input_grad_frees_bytes = 0, output_bytes = 1> buffers[<weights = 64>]
}

// One replica may state that it has all samples.
// CHECK-LABEL: pipe.plan @all
pipe.plan @all of @timed on @lab microbatches(4) samples(8) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on [0: 8]
  pipe.stage @s0 [@l0] on [0: 8]
  // CHECK-NEXT: pipe.stage @s1 [@l1] on 1
  pipe.stage @s1 [@l1] on 1
}

// Whole micro-batches in turn; a timed model need not have samples.
// CHECK-LABEL: pipe.plan @round_robin
pipe.plan @round_robin of @timed on @lab microbatches(4) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on [0, 2] round_robin buffers[<weights = 64>, <weights = 64>]
  pipe.stage @s0 [@l0] on [0, 2] round_robin buffers[<weights = 64>, <weights = 64>]
  // CHECK-NEXT: pipe.stage @s1 [@l1] on [3, 1] round_robin recompute{{$}}
  pipe.stage @s1 [@l1] on [3, 1] round_robin recompute
}

// In a schedule a rank runs its own home of a stage, which may be named.
// CHECK-LABEL: pipe.schedule @by_hand of @equal {
pipe.schedule @by_hand of @equal {
  pipe.rank 2 {
    pipe.for %i = 0 to 4 {
      // CHECK: pipe.forward @s0[%i]
      pipe.forward @s0[%i]
      // CHECK-NEXT: pipe.input_grad @s0:1[%i]
      pipe.input_grad @s0:1[%i]
      // CHECK-NEXT: pipe.weight_grad @s0:1[%i * 2 + 1]
      pipe.weight_grad @s0:1[%i * 2 + 1]
      // CHECK-NEXT: pipe.backward @s0:1[3]
      pipe.backward @s0:1[3]
    }
    // CHECK: pipe.step @s0:1
    pipe.step @s0:1
  }
}

// CHECK-LABEL: pipe.program @main of @by_hand pipeline arena [64, 64, 64, 64] {
pipe.program @main of @by_hand pipeline arena [64, 64, 64, 64] {
  // CHECK-NEXT: pipe.collective @c0 replica_gradients [@s1]
  pipe.collective @c0 replica_gradients [@s1]
  // CHECK-NEXT: pipe.collective @c1 replica_gradients [@s0]
  pipe.collective @c1 replica_gradients [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 2 <offset = 0, slot_bytes = 64, slots = 1>
  // Replicas of one stage, told apart by the ranks of their pools.
  // CHECK: pipe.place weights @s0 in @p0 [0]
  pipe.place weights @s0 in @p0 [0]
  // CHECK-NEXT: pipe.place weights @s0 in @p1 [0]
  pipe.place weights @s0 in @p1 [0]
  // Other replicas on the rank of the reference, by their numbers.
  // CHECK-NEXT: pipe.place input @s1:1 with @s0 in @p0 [0]
  pipe.place input @s1:1 with @s0 in @p0 [0]
  pipe.rank 0 {
    pipe.for %i = 0 to 4 {
      // CHECK: pipe.recv gradient @s1:1[%i]
      pipe.recv gradient @s1:1[%i]
      // CHECK-NEXT: pipe.recv gradient @s1:0[%i] to @s0:1
      pipe.recv gradient @s1:0[%i] to @s0:1
      // CHECK-NEXT: pipe.send activation @s0[%i] to @s1:0
      pipe.send activation @s0[%i] to @s1:0
      // CHECK-NEXT: pipe.send activation @s0:1[%i] to @s1
      pipe.send activation @s0:1[%i] to @s1
      // CHECK-NEXT: pipe.forward @s0:1[%i]
      pipe.forward @s0:1[%i]
    }
    // CHECK: pipe.step @s0:1
    pipe.step @s0:1
  }
}

// Plans that divide samples alike share one state, whatever their micro-batches.
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @coarse of @gpt on @lab microbatches(2) {
  pipe.stage @front [@wte] on [0, 1]
  pipe.stage @back [@lm_head] on 2
}
pipe.plan @fine of @gpt on @lab microbatches(4) samples(2) {
  pipe.stage @front [@wte] on [0: 1, 1: 1]
  pipe.stage @back [@lm_head] on 2
}
pipe.schedule @in_two of @coarse family<"1f1b">
pipe.schedule @in_four of @fine family<"1f1b">
// CHECK: pipe.executable @train of [@in_two, @in_four]
pipe.executable @train of [@in_two, @in_four]
