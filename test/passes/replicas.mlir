// Stages with several replicas: messages are cut between replicas that share samples,
// sums over replicas are issued after the last weight gradient of their stage.
// RUN: rondo-opt %s --pipe-schedule --pipe-insert-communication | FileCheck %s
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-roll -o %t
// RUN: FileCheck %s --check-prefix=PLACES --input-file=%t

// Printed text can be read, proved, and printed again.
// RUN: rondo-opt %t --pipe-verify-lowered --pipe-roll | diff %t -

pipe.cluster @lab channels<rendezvous, receive_slots = 1> link<latency_ns = 10, bytes_per_us = 1000> {
  pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3
}
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// Rank 1 has samples 2 and 3, of which rank 2 takes one and rank 3 the other.
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on [0, 1]
  pipe.stage @s1 [@lm_head] on [2: 3, 3: 1]
}
pipe.schedule @mine of @step family<"1f1b">

// The reference runs all replicas on rank 0, by their numbers; the replicas of a stage
// add up in their order.
// CHECK-LABEL: pipe.program @mine_sequential
// CHECK-NEXT:  pipe.collective @c0 replica_gradients [@s1] {{.*}}
// CHECK-NEXT:  pipe.collective @c1 replica_gradients [@s0] {{.*}}
// CHECK-NEXT:  pipe.collective @c2 tied_gradients "wte.weight" [@s0, @s1]
// CHECK-NEXT:  pipe.collective @c3 gradient_norm [@s0, @s1]
// CHECK:       pipe.rank 0 {
// CHECK:         pipe.forward @s0[0]
// CHECK-NEXT:    pipe.forward @s0:1[0]
// CHECK-NEXT:    pipe.forward @s1[0]
// CHECK-NEXT:    pipe.forward @s1:1[0]
// CHECK:         pipe.step @s0
// CHECK-NEXT:    pipe.step @s0:1
// CHECK-NEXT:    pipe.step @s1
// CHECK-NEXT:    pipe.step @s1:1

// Rank 0's samples all go to rank 2: nothing needs to be named.
// CHECK-LABEL: pipe.program @mine_lowered
// CHECK:      pipe.rank 0 {
// CHECK-NEXT:   pipe.forward @s0[0]
// CHECK-NEXT:   pipe.send activation @s0[0]
// CHECK-NEXT:   pipe.forward @s0[1]
// CHECK-NEXT:   pipe.send activation @s0[1]
// CHECK-NEXT:   pipe.recv gradient @s1[0]
// CHECK-NEXT:   pipe.backward @s0[0]
// CHECK-NEXT:   pipe.recv gradient @s1[1]
// CHECK-NEXT:   pipe.backward @s0[1]
// CHECK-NEXT:   pipe.issue @c1
// CHECK-NEXT:   pipe.await @c1
// CHECK-NEXT:   pipe.issue @c2
// CHECK-NEXT:   pipe.await @c2
// CHECK-NEXT:   pipe.issue @c3
// CHECK-NEXT:   pipe.await @c3
// CHECK-NEXT:   pipe.step @s0
// CHECK-NEXT: }
// CHECK-NEXT: pipe.rank 1 {
// CHECK:        pipe.send activation @s0[{{.*}}] to @s1:0
// CHECK-NEXT:   pipe.send activation @s0[{{.*}}] to @s1:1
// CHECK:        pipe.recv gradient @s1:0[{{.*}}]
// CHECK-NEXT:   pipe.recv gradient @s1:1[{{.*}}]
// CHECK-NEXT:   pipe.backward @s0
// CHECK:        pipe.issue @c1
// CHECK:      pipe.rank 2 {
// CHECK-NEXT:   pipe.recv activation @s0:0[0]
// CHECK-NEXT:   pipe.recv activation @s0:1[0]
// CHECK-NEXT:   pipe.forward @s1[0]
// CHECK:        pipe.send gradient @s1[1] to @s0:0
// CHECK-NEXT:   pipe.send gradient @s1[1] to @s0:1
// CHECK-NEXT:   pipe.issue @c0
// CHECK-NEXT:   pipe.await @c0
// CHECK-NEXT:   pipe.issue @c2
// CHECK:      pipe.rank 3 {
// CHECK-NEXT:   pipe.recv activation @s0[0]
// CHECK-NEXT:   pipe.forward @s1[0]
// CHECK:        pipe.send gradient @s1[0]
// CHECK:        pipe.issue @c0

// Replicas take buffers in proportion to their samples, and each has weights.
// PLACES:       pipe.stage @s1 {{.*}} buffers[<weights = 640, {{.*}} input = 384, {{.*}}>, <weights = 640, {{.*}} input = 128, {{.*}}>]
// PLACES-LABEL: pipe.program @mine_sequential
// PLACES:       pipe.pool @p[[OF_0:[0-9]+]] on 0 <offset = 0, slot_bytes = 640, slots = 1>
// PLACES:       pipe.pool @p[[OF_1:[0-9]+]] on 1 <offset = 0, slot_bytes = 640, slots = 1>
// PLACES:       pipe.place weights @s0 in @p[[OF_0]] [0]
// PLACES:       pipe.place weights @s0:1 in @p[[OF_1]] [0]
// PLACES-LABEL: pipe.program @mine_lowered
// PLACES:       pipe.pool @p[[OF_0:[0-9]+]] on 0 <offset = 0, slot_bytes = 640, slots = 1>
// PLACES:       pipe.pool @p[[OF_1:[0-9]+]] on 1 <offset = 0, slot_bytes = 640, slots = 1>
// PLACES:       pipe.place weights @s0 in @p[[OF_0]] [0]
// PLACES:       pipe.place weights @s0 in @p[[OF_1]] [0]
