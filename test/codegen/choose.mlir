// Which schedule is emitted, and what is wrong if none can be.
// RUN: split-file %s %t
// RUN: rondo-opt %t/two.mlir --pipe-schedule --pipe-lower \
// RUN:   --pipe-emit-cpp -o /dev/null | FileCheck %s --check-prefix=FIRST
// RUN: rondo-opt %t/two.mlir --pipe-schedule --pipe-lower \
// RUN:   --pipe-emit-cpp=schedule=other -o /dev/null | FileCheck %s --check-prefix=OTHER
// RUN: not rondo-opt %t/two.mlir --pipe-schedule --pipe-lower \
// RUN:   --pipe-emit-cpp=schedule=third 2>&1 | FileCheck %s --check-prefix=THIRD
// RUN: rondo-opt %t/errors.mlir --pipe-resolve-stages --pipe-emit-cpp \
// RUN:   -split-input-file -verify-diagnostics

// FIRST: Schedule @main of plan @step
// FIRST: {1, "main", ProgramKind::Pipeline, 4, 0, true,
// FIRST: "main", 2, layers
// OTHER: Schedule @other of plan @step
// OTHER: {1, "other", ProgramKind::Pipeline, 4, 0, false,
// OTHER: "other", 2, layers
// THIRD: error: no pipe.schedule @third

//--- two.mlir
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">
pipe.schedule @other of @step family<"gpipe"> accumulate(schedule_order)

//--- errors.mlir
// expected-error @below {{no pipe.schedule to emit}}
module {}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
// expected-error @below {{schedule has no program: lower it before emitting code}}
pipe.schedule @main of @step { pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } } }

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @main of @step { pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } } }
// expected-error @below {{program has no arena: run pipe-plan-memory before emitting code}}
pipe.program @main_lowered of @main pipeline {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @main of @step { pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } } }
// expected-note @below {{this is the other}}
pipe.program @a of @main pipeline arena [0] {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
}
// expected-error @below {{schedule @main has two pipeline programs}}
pipe.program @b of @main pipeline arena [0] {
  pipe.rank 0 { pipe.for %i = 0 to 2 { pipe.forward @s0[%i] pipe.backward @s0[%i] } }
}
