// Whatever the names of schedule, plan and layers, and whichever ranks are
// idle, the C++ compiles without warnings.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp -o /dev/null > %t.cpp
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%rondo_src_root %t.cpp

pipe.cluster @c { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @m {
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 3, weight_grad_ns = 3>
  pipe.layer @"line\0Aend \22{}\22" synthetic<forward_ns = 3, input_grad_ns = 3, weight_grad_ns = 3>
}
pipe.plan @"plan\0A#error {}" of @m on @c microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@"line\0Aend \22{}\22"] on 2
}
pipe.schedule @"rank_0\0A#error \\" of @"plan\0A#error {}" {
  pipe.rank 0 {
    pipe.for %i = 0 to 4 { pipe.forward @s0[3 - %i] }
    pipe.for %i = 0 to 4 { pipe.backward @s0[%i] }
  }
  pipe.rank 2 { pipe.for %i = 0 to 4 { pipe.forward @s1[%i] pipe.backward @s1[%i] } }
}

// CHECK: // Schedule @"rank_0\0A#error \\" of plan @"plan\0A#error {}", written by rondo.
// CHECK: {"line\n{{.*}}\"{}\"", LayerKind::Synthetic
// CHECK-LABEL: namespace pipeline {
// A micro-batch that decreases with the loop.
// CHECK: forward(rank, 0, [[I:i[0-9]+]] * -1 + 3);
// Ranks without a stage share one empty function.
// CHECK: static void ranks_from_1(Rank & [[RANK:v[0-9]+]], const int64_t* [[ROW:v[0-9]+]]) {
// CHECK-NEXT: (void)[[ROW]];
// CHECK-NEXT: (void)[[RANK]];
// CHECK-NEXT: return;
// CHECK: constexpr RankDesc ranks[] = {
// CHECK-NEXT: {rank_0, nullptr},
// CHECK-NEXT: {ranks_from_1, nullptr},
// CHECK-NEXT: {rank_2, nullptr},
// CHECK-NEXT: {ranks_from_1, nullptr},
