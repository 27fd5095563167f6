// Plans: stages with and without figures, several on one rank.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}

// CHECK-LABEL: pipe.plan @step of @timed on @lab microbatches(8) {
pipe.plan @step of @timed on @lab microbatches(8) {
  // CHECK-NEXT: pipe.stage @s0 [@l0, @l1] on 1{{$}}
  pipe.stage @s0 [@l0, @l1] on 1
}

// CHECK-LABEL: pipe.plan @figures
pipe.plan @figures of @timed on @lab microbatches(16777216) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 2, weight_grad_ns = 3, activation_bytes = 5, input_grad_frees_bytes = 4, output_bytes = 6>{{$}}
  pipe.stage @s0 [@l0] on 0
      costs<forward_ns = 1, input_grad_ns = 2, weight_grad_ns = 3, activation_bytes = 5,
            input_grad_frees_bytes = 4, output_bytes = 6>
  // CHECK-NEXT: pipe.stage @s1 [@l1] on 0 buffers<weights = 64, moments = 128, saved_for_weight_grad = 9>{{$}}
  pipe.stage @s1 [@l1] on 0 buffers<weights = 64, moments = 128, data = 0, saved_for_weight_grad = 9>
}

// CHECK-LABEL: pipe.plan @on_gpus of @timed on @lab microbatches(8) target<cuda, bf16> {
pipe.plan @on_gpus of @timed on @lab microbatches(8) target<cuda, bf16> {
  pipe.stage @s0 [@l0, @l1] on 1
}

// CHECK-LABEL: pipe.plan @on_gpus_with_few_launches of @timed on @lab microbatches(8) target<cuda, bf16, resident = 4> {
pipe.plan @on_gpus_with_few_launches of @timed on @lab microbatches(8) target<cuda, bf16, resident = 4> {
  pipe.stage @s0 [@l0] on 0
}

// CHECK-LABEL: pipe.plan @on_gpus_exactly of @timed on @lab microbatches(8) target<cuda, fp32> attributes {note = 1 : i64} {
pipe.plan @on_gpus_exactly of @timed on @lab microbatches(8) target<cuda, fp32> attributes {note = 1} {
  pipe.stage @s0 [@l0, @l1] on 1
}
