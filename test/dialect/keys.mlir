// Fields of attributes: any order, comments, and texts with quotes in them.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

// CHECK: pipe.device @d0 <memory_bytes = 8, flops_per_us = 3>
// CHECK: pipe.device @d1 <>
pipe.cluster @lab {
  pipe.device @d0 <flops_per_us = 3, // memory_bytes = 4>, colour = 1
                   memory_bytes = 8>
  pipe.device @d1 <>
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }

// A quote in a text does not end it, and what follows is no key.
// CHECK: found<origin = "\22one\22, two = 3", makespan_ns = 3, span_ns = 3, lower_bound_ns = 3, bound = "work>"
pipe.schedule @mine of @step search<effort = 1>
    found<origin = "\"one\", two = 3", makespan_ns = 3, span_ns = 3, lower_bound_ns = 3, bound = "work>", stopped = exhausted> {
  pipe.rank 0 { pipe.forward @s0[0] pipe.backward @s0[0] }
}
