// Errors of the pools and places of a program, if one op shows them.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-note @+1 {{see existing symbol definition here}}
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 1>
  // expected-error @+1 {{redefinition of symbol named 'p0'}}
  pipe.pool @p0 on 1 <offset = 0, slot_bytes = 8, slots = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{pool @p0 has 0 slots; the minimum is 1}}
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 0>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{pool @p0 has 4294967297 slots; the maximum is 2147483647}}
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 4294967297>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{pool @p0 has an offset of -8 and slots of 8 bytes; neither may be negative}}
  pipe.pool @p0 on 0 <offset = -8, slot_bytes = 8, slots = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{pool @p0 is on rank -1; ranks are numbered from 0}}
  pipe.pool @p0 on -1 <offset = 0, slot_bytes = 8, slots = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-note @+1 {{pool @p0 has 2 slots}}
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 2>
  // expected-error @+1 {{slot 2 is not in pool @p0}}
  pipe.place input @s0 in @p0 [0, 1, 2]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-error @+1 {{unknown pool @p4}}
  pipe.place input @s0 in @p4 [0]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 2>
  // expected-error @+1 {{the place of input of stage @s0 lists no slots}}
  pipe.place input @s0 in @p0 []
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  pipe.pool @p0 on 0 <offset = 0, slot_bytes = 8, slots = 2>
  // expected-note @+1 {{first given here}}
  pipe.place input @s0 in @p0 [0]
  // expected-error @+1 {{the place of input of stage @s0 is given twice}}
  pipe.place input @s0 in @p0 [1]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  pipe.pool @workspace on 0 <offset = 0, slot_bytes = 64, slots = 1>
  // expected-error @+1 {{unknown pool @works_pace; did you mean @workspace?}}
  pipe.place workspace @s0 in @works_pace [0]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

pipe.program @main of @mine pipeline {
  // expected-note @+1 {{first given here}}
  pipe.pool @p0 on 1 staging <offset = 0, slot_bytes = 64, slots = 1>
  // expected-error @+1 {{the staging of rank 1 is given twice}}
  pipe.pool @p1 on 1 staging <offset = 64, slot_bytes = 64, slots = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(8) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @mine of @step family<"1f1b">

// Earlier modules name pools by number, and have an op for staging.
pipe.program @main of @mine pipeline {
  pipe.pool 0 on 1 <offset = 0, slot_bytes = 64, slots = 1>
  // expected-error @+1 {{staging is a word of its pool now: write pipe.pool @p2 on 0 staging <...>, and leave pipe.staging out}}
  pipe.staging in 0
}
