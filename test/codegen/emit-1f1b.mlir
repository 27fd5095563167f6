// Four ranks under 1F1B: the middle ranks run one function, and a row gives it
// what differs between them. It reads like the schedule.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp -o /dev/null > %t.cpp
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%rondo_src_root %t.cpp

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @h1 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
  pipe.layer @lm_head head costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 1000>
}
pipe.plan @step of @gpt on @lab microbatches(16) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@h1] on 2
  pipe.stage @s3 [@lm_head] on 3
}
pipe.schedule @main of @step family<"1f1b">

// CHECK: constexpr LayerDesc layers[] = {
// CHECK-NEXT: {"wte", LayerKind::GptEmbedding, 16, 4, 8, 2, 16, 1, true,
// CHECK: constexpr ShareDesc shares[] = {
// CHECK: constexpr StageDesc stages[] = {
// CHECK-NEXT: {"s0", 0, 1},
// CHECK: {"s3", 3, 1},
// CHECK: constexpr ReplicaDesc replicas[] = {
// CHECK-NEXT: {0, 0, 0},
// CHECK: {3, 0, 3},

// The reference runs all stages on one rank.
// CHECK-LABEL: namespace sequential {
// CHECK: static void sequential_rank_0(
// CHECK: for (int64_t [[I:i[0-9]+]] = 0; [[I]] < 16;
// CHECK-NEXT: forward(rank, 0, [[I]]);
// CHECK: backward(rank, 0, [[I]]);
// CHECK-NOT: forward(
// CHECK: } // namespace sequential

// CHECK-LABEL: namespace pipeline {
// CHECK: static void rank_0(
// CHECK: for (int64_t [[I:i[0-9]+]] = 0; [[I]] < 4; [[I]] += 1) {
// CHECK-NEXT: forward(rank, 0, [[I]]);
// CHECK-NEXT: send(rank, Message::Activation, 0, [[I]]);
// CHECK-NEXT: }
// CHECK-NEXT: for (int64_t [[I:i[0-9]+]] = 0; [[I]] < 12; [[I]] += 1) {
// CHECK-NEXT: recv(rank, Message::Gradient, 1, [[I]]);
// CHECK-NEXT: backward(rank, 0, [[I]]);
// CHECK-NEXT: forward(rank, 0, [[I]] + 4);
// CHECK-NEXT: send(rank, Message::Activation, 0, [[I]] + 4);

// The replica comes first in a row; neighbours are offsets of it.
// CHECK: // A row for each rank: replica, end, shift
// CHECK-NEXT: ranks_1_to_2_row_1[] = {1, 3, -2};
// CHECK-NEXT: ranks_1_to_2_row_2[] = {2, 2, -1};
// CHECK-NEXT: static void ranks_1_to_2(
// CHECK: const int64_t replica = [[ROW:v[0-9]+]][0];
// CHECK: const int64_t shift = [[ROW]][2];
// CHECK: for (int64_t [[I:i[0-9]+]] = end; [[I]] < 15; [[I]] += 1) {
// CHECK-NEXT: forward(rank, replica, [[I]]);
// CHECK-NEXT: send(rank, Message::Activation, replica, [[I]]);
// CHECK-NEXT: recv(rank, Message::Gradient, replica + 1, [[I]] + shift);
// CHECK-NEXT: backward(rank, replica, [[I]] + shift);
// CHECK-NEXT: send(rank, Message::Gradient, replica, [[I]] + shift);
// CHECK-NEXT: recv(rank, Message::Activation, replica - 1, [[I]] + 1);
// CHECK-NEXT: }
// Only ranks that hold the tied weight take part in its collective.
// CHECK: all_reduce(rank, 1);
// CHECK-NEXT: await(rank, 1);
// CHECK-NEXT: step(rank, replica);
// CHECK: static void rank_3(
// CHECK: all_reduce(rank, 0);
// CHECK-NEXT: await(rank, 0);
// CHECK-NEXT: all_reduce(rank, 1);
// CHECK-NEXT: await(rank, 1);
// CHECK-NEXT: step(rank, 3);

// CHECK: constexpr PoolDesc pools[] = {
// CHECK: {0, 640, 640, 1},
// CHECK: constexpr PlaceDesc places[] = {
// CHECK: {24, 4, slots_{{[0-9]+}}}, // replica 0 saved_for_weight_grad
// CHECK-NOT: // replica 3 output{{$}}
// CHECK: collective_0[] = {0, 3};
// CHECK: collective_1[] = {0, 1, 2, 3};
// CHECK: {CollectiveKind::TiedGradients, "wte.weight", 2, collective_0, 0},
// CHECK-NEXT: {CollectiveKind::GradientNorm, "", 4, collective_1, 0},
// Ranks 0 and 3 share a weight.
// CHECK: constexpr int32_t staging[] = {18, -1, -1, 19};
// CHECK: rank_of_replica[] = {0, 1, 2, 3};
// CHECK: constexpr RankDesc ranks[] = {
// CHECK-NEXT: {rank_0, nullptr},
// CHECK-NEXT: {ranks_1_to_2, ranks_1_to_2_row_1},
// CHECK-NEXT: {ranks_1_to_2, ranks_1_to_2_row_2},
// CHECK-NEXT: {rank_3, nullptr},

// CHECK-LABEL: namespace evaluation {
// CHECK-NOT: backward(
// CHECK: } // namespace evaluation

// The predicted iteration: 16 times 3 us of work, and 3 us for each of the
// three ranks before.
// CHECK: {1, "main", ProgramKind::Pipeline, 16, 1, true,
// CHECK: 57000, 192000, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
// CHECK: constexpr Executable executable = {"main", 4, layers, 4, stages, 4, replicas, 6, edges, 4, arena_bytes, 3, programs,
// CHECK-NEXT: &tcpBackend, 6, links, 2, {nullptr, nullptr, nullptr, nullptr, &textGeneration}};
// CHECK: int main(
