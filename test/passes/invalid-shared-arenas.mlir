// The programs of an executable work on one state and share one memory for staging.
// RUN: rondo-opt %s --pipe-resolve-stages --pipe-plan-memory -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) {
  pipe.stage @s0 [@l0] on 0
}
pipe.schedule @mine of @step norm(none) {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
}
pipe.program @reference of @mine sequential arena [448] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.step @s0 }
}
// expected-error @below {{weights of stage 0: this program has them at byte 64 of rank 0, the sequential reference at byte 0 of rank 0; all programs of an executable work on the same state}}
pipe.program @main of @mine pipeline arena [448] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.place gradients @s0 in @p0 [0]
  pipe.place weights @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.step @s0 }
}

// -----

// Each rank sums its gradients with the other one's, for which it needs staging.
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(2) {
  pipe.stage @s0 [@l0] on [0, 1]
}
pipe.schedule @one of @step norm(none) {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
}
pipe.schedule @two of @step norm(none) {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] }
}
pipe.executable @both of [@one, @two]
pipe.program @first of @one pipeline arena [576, 576] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.issue @c0 pipe.await @c0 pipe.step @s0 }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.issue @c0 pipe.await @c0 pipe.step @s0 }
}
// expected-error @below {{rank 1: this program has staging at byte 512, another at byte 448; all programs of an executable share it}}
pipe.program @second of @two pipeline arena [576, 640] {
  pipe.collective @c0 replica_gradients [@s0]
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 0 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p2 on 0 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p3 on 0 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p4 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p5 on 1 <offset = 64, slot_bytes = 64, slots = 1>
  pipe.pool @p6 on 1 <offset = 128, slot_bytes = 128, slots = 1>
  pipe.pool @p7 on 1 <offset = 256, slot_bytes = 192, slots = 1>
  pipe.pool @p8 on 0 staging <offset = 448, slot_bytes = 128, slots = 1>
  pipe.pool @p9 on 1 staging <offset = 512, slot_bytes = 128, slots = 1>
  pipe.place weights @s0 in @p0 [0]
  pipe.place gradients @s0 in @p1 [0]
  pipe.place moments @s0 in @p2 [0]
  pipe.place control @s0 in @p3 [0]
  pipe.place weights @s0 in @p4 [0]
  pipe.place gradients @s0 in @p5 [0]
  pipe.place moments @s0 in @p6 [0]
  pipe.place control @s0 in @p7 [0]
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.issue @c0 pipe.await @c0 pipe.step @s0 }
  pipe.rank 1 { pipe.forward @s0[0] pipe.backward @s0[0] pipe.issue @c0 pipe.await @c0 pipe.step @s0 }
}
