// Replicas that a schedule or a program names, and those of stages that share ranks.
// RUN: rondo-opt %s -pipe-schedule -pipe-verify-lowered -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2, 3]
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s0 has no replica 2; it has 2 replicas, numbered from 0}}
    pipe.forward @s0:2[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2, 3]
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s0 has no replica -1; it has 2 replicas, numbered from 0}}
    pipe.forward @s0:-1[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2, 3]
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    pipe.backward @s0[0]
    // expected-error @+1 {{stage @s0 has no replica 2; it has 2 replicas, numbered from 0}}
    pipe.step @s0:2
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2, 3]
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // expected-error @+1 {{replica 1 of stage @s0 is on rank 1, not on rank 0, whose order this is}}
    pipe.forward @s0:1[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2, 3]
}
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0:0[0]
    // expected-error @+1 {{replica 1 of stage @s0 is on rank 1, not on rank 0, whose order this is}}
    pipe.step @s0:1
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s0 has no replica 7; it has 2 replicas, numbered from 0}}
    pipe.step @s0:7
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [1, 0]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 1 {
    // expected-error @+1 {{2 replicas take a part of the activation of stage @s0; name the one that this is for, as in `to @s1:0`}}
    pipe.send activation @s0[0] to @s1
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 3 {
    // expected-error @+1 {{2 replicas send a part of the activation of stage @s0; name the one that this is from, as in `@s0:0`}}
    pipe.recv activation @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 pipe.device @d4 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0: 2, 1: 1, 2: 1]
  pipe.stage @s1 [@l1] on [4: 2, 3: 2]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64, 64] {
  pipe.rank 3 {
    // expected-error @+1 {{2 replicas send a part of the activation of stage @s0; name the one that this is from, as in `@s0:1`}}
    pipe.recv activation @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 3 {
    // expected-error @+1 {{stage @s0 has no replica 2; it has 2 replicas, numbered from 0}}
    pipe.recv activation @s0:2[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 0 {
    // expected-error @+1 {{stage @s1 has no replica 2; it has 2 replicas, numbered from 0}}
    pipe.send activation @s0[0] to @s1:2
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 1 {
    // expected-error @+1 {{replica 1 of stage @s0 and replica 0 of stage @s1 have no samples in common, so no activation goes from one to the other}}
    pipe.send activation @s0:1[0] to @s1:0
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
// expected-note @+1 {{plan @step is a chain of its stages}}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.rank 1 {
    // expected-error @+1 {{stage @s0 does not need the activation of stage @s1}}
    pipe.send activation @s1:1[0] to @s0:0
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  // expected-error @+1 {{stage @s0 has no replica 2; it has 2 replicas, numbered from 0}}
  pipe.place output @s0:2 in @p0 [0]
  pipe.rank 0 {
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.place output @s0 in @p0 [0]
  // expected-error @+1 {{the place of output of stage @s0 is given twice}}
  pipe.place output @s0:0 in @p0 [0]
  pipe.rank 0 {
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.pool @p1 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  pipe.place output @s0 in @p1 [0]
  // expected-error @+1 {{the place of output of stage @s0 is given twice}}
  pipe.place output @s0:1 in @p0 [0]
  pipe.rank 0 {
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  pipe.stage @s0 [@l0] on [0, 1]
  pipe.stage @s1 [@l1] on [2: 1, 3: 3]
}
pipe.schedule @mine of @step family<"gpipe">
pipe.program @main of @mine pipeline arena [64, 64, 64, 64] {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 64, slots = 1>
  // expected-note @+1 {{first given here}}
  pipe.place output @s0:1 in @p0 [0]
  // expected-error @+1 {{the place of output of stage @s0 is given twice}}
  pipe.place output @s0:1 in @p0 [0]
  pipe.rank 0 {
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 4, input_grad_ns = 4, weight_grad_ns = 4>
}
pipe.plan @step of @timed on @lab microbatches(1) samples(4) {
  // expected-note @+1 {{stage @s0 is here}}
  pipe.stage @s0 [@l0] on [0: 3, 1: 1]
  // expected-error @+1 {{stage 0 takes 3 samples on rank 0, stage 1 2 there, not the same ones: rank 0 would need a message to itself; give both the same share [P3]}}
  pipe.stage @s1 [@l1] on [0: 2, 1: 2]
}
pipe.schedule @mine of @step family<"gpipe">
