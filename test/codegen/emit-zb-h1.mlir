// ZB-H1 has separate I and W; codegen does not join them.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp -o /dev/null > %t.cpp
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%rondo_src_root %t.cpp

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 128, input_grad_frees_bytes = 64, output_bytes = 64>
  pipe.layer @l1 synthetic<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000, activation_bytes = 128, input_grad_frees_bytes = 64>
}
pipe.plan @step of @timed on @lab microbatches(12) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"zb-h1">

// CHECK-LABEL: namespace pipeline {
// CHECK: static void rank_1(
// CHECK: for (int64_t [[I:i[0-9]+]] = 1; [[I]] < 11; [[I]] += 1) {
// CHECK-NEXT: forward(rank, 1, [[I]]);
// CHECK-NEXT: input_grad(rank, 1, [[I]]);
// CHECK-NEXT: send(rank, Message::Gradient, 1, [[I]]);
// CHECK-NEXT: weight_grad(rank, 1, [[I]] - 1);
// CHECK-NEXT: recv(rank, Message::Activation, 0, [[I]] + 1);
// CHECK-NEXT: }
// CHECK-NOT: backward(
// Without weights there is nothing to reduce and nothing to step.
// CHECK-NOT: all_reduce(
// CHECK-NOT: step(
// CHECK: } // namespace pipeline
// CHECK: 37000, 72000, pipeline::peak_memory_bytes, nullptr, pipeline::work_ns},
