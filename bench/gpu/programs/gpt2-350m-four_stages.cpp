// Schedule @four_stages of plan @step4, written by rondo.

#include "runtime/rondo_runtime.h"

#if RONDO_TABLES_VERSION != 11
#error "another version of rondo wrote this program (tables of version 11): write it again with the rondo that this runtime belongs to"
#else


using namespace rondo::runtime;

namespace {

// name, kind, vocab, sequence, hidden, heads, ffn, batch, tied,
// recomputes, then of timed layers: ns of F, I and W; bytes of activations, of
// what I frees, inputs, bytes of each, of output and weights.
// Last, the target and what activations are stored in.
constexpr LayerDesc layers[] = {
    {"wte", LayerKind::GptEmbedding, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 0, {}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h0", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h1", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h2", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h3", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h4", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h5", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h6", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h7", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h8", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h9", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h10", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h11", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h12", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h13", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h14", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h15", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h16", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h17", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h18", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h19", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h20", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h21", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h22", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h23", LayerKind::GptBlock, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"ln_f", LayerKind::GptHead, 50257, 1024, 1024, 16, 4096, 8, true,
     false, 0, 0, 0, 0, 0, 1, {16777216}, 0, 0,
     Target::Cuda, DType::Bf16},
};

// By replica: first sample, samples; turn, of how many; then bytes of:
// weights gradients moments weight_changes control data workspace input output output_grad input_grad saved_for_input_grad saved_for_weight_grad checkpoints recomputed_for_input_grad recomputed_for_weight_grad recomputed_input recomputed_output gathered_weights unreduced_gradients
constexpr ShareDesc shares[] = {
    {0, 8, 0, 1,
     {768534528, 512356352, 1024712704, 0, 960, 32768, 159908032, 0, 16777216, 16777216, 0, 3538944, 1627570176, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {453464064, 302309376, 604618752, 0, 832, 0, 159908032, 16777216, 16777216, 16777216, 16777216, 3538944, 1610760192, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {453464064, 302309376, 604618752, 0, 832, 0, 159908032, 16777216, 16777216, 16777216, 16777216, 3538944, 1610760192, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {762298368, 508198912, 1016397824, 0, 1024, 32768, 159908032, 16777216, 0, 0, 16777216, 3571712, 2451726336, 0, 0, 0, 0, 0, 0, 0}},
};

// from, to, message, bytes, place that it leaves and enters, where in each
constexpr EdgeDesc edges[] = {
    {0, 1, Message::Activation, 16777216, 8, 27, 0, 0},
    {1, 2, Message::Activation, 16777216, 28, 47, 0, 0},
    {2, 3, Message::Activation, 16777216, 48, 67, 0, 0},
    {1, 0, Message::Gradient, 16777216, 30, 9, 0, 0},
    {2, 1, Message::Gradient, 16777216, 50, 29, 0, 0},
    {3, 2, Message::Gradient, 16777216, 70, 49, 0, 0},
};

// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 7},
    {"s1", 7, 6},
    {"s2", 13, 6},
    {"s3", 19, 7},
};

// stage, replica, rank
constexpr ReplicaDesc replicas[] = {
    {0, 0, 0},
    {1, 0, 1},
    {2, 0, 2},
    {3, 0, 3},
};


namespace sequential {

static void sequential_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    forward(rank, 1, i3);
    forward(rank, 2, i3);
    forward(rank, 3, i3);
    backward(rank, 3, i3);
    backward(rank, 2, i3);
    backward(rank, 1, i3);
    backward(rank, 0, i3);
  }
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 0);
  step(rank, 1);
  step(rank, 2);
  step(rank, 3);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 768534528, 1},
    {0, 768534528, 512356352, 1},
    {0, 1280890880, 1024712704, 1},
    {0, 2305603584, 960, 1},
    {0, 2305604544, 32768, 8},
    {1, 0, 453464064, 1},
    {1, 453464064, 302309376, 1},
    {1, 755773440, 604618752, 1},
    {1, 1360392192, 832, 1},
    {2, 0, 453464064, 1},
    {2, 453464064, 302309376, 1},
    {2, 755773440, 604618752, 1},
    {2, 1360392192, 832, 1},
    {3, 0, 762298368, 1},
    {3, 762298368, 508198912, 1},
    {3, 1270497280, 1016397824, 1},
    {3, 2286895104, 1024, 1},
    {3, 2286896128, 32768, 8},
    {0, 2305866688, 159908032, 1},
    {1, 1360393024, 159908032, 1},
    {2, 1360393024, 159908032, 1},
    {3, 2287158272, 159908032, 1},
    {0, 2465774720, 3538944, 1},
    {0, 2469313664, 16777216, 1},
    {0, 2486090880, 1627570176, 1},
    {1, 1520301056, 3538944, 1},
    {1, 1523840000, 16777216, 1},
    {1, 1540617216, 1610760192, 1},
    {2, 1520301056, 3538944, 1},
    {2, 1523840000, 16777216, 1},
    {2, 1540617216, 1610760192, 1},
    {3, 2447066304, 3571712, 1},
    {3, 2450638016, 16777216, 1},
    {3, 2467415232, 2451726336, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {18, 1, slots_0}, // replica 0 workspace
    {}, {23, 1, slots_0}, // replica 0 output
    {26, 1, slots_0}, // replica 0 output_grad
    {}, {22, 1, slots_0}, // replica 0 saved_for_input_grad
    {24, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_0}, // replica 1 weights
    {6, 1, slots_0}, // replica 1 gradients
    {7, 1, slots_0}, // replica 1 moments
    {}, {8, 1, slots_0}, // replica 1 control
    {}, {19, 1, slots_0}, // replica 1 workspace
    {23, 1, slots_0}, // replica 1 input
    {26, 1, slots_0}, // replica 1 output
    {29, 1, slots_0}, // replica 1 output_grad
    {26, 1, slots_0}, // replica 1 input_grad
    {25, 1, slots_0}, // replica 1 saved_for_input_grad
    {27, 1, slots_0}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_0}, // replica 2 weights
    {10, 1, slots_0}, // replica 2 gradients
    {11, 1, slots_0}, // replica 2 moments
    {}, {12, 1, slots_0}, // replica 2 control
    {}, {20, 1, slots_0}, // replica 2 workspace
    {26, 1, slots_0}, // replica 2 input
    {29, 1, slots_0}, // replica 2 output
    {32, 1, slots_0}, // replica 2 output_grad
    {29, 1, slots_0}, // replica 2 input_grad
    {28, 1, slots_0}, // replica 2 saved_for_input_grad
    {30, 1, slots_0}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {13, 1, slots_0}, // replica 3 weights
    {14, 1, slots_0}, // replica 3 gradients
    {15, 1, slots_0}, // replica 3 moments
    {}, {16, 1, slots_0}, // replica 3 control
    {17, 8, slots_0}, // replica 3 data
    {21, 1, slots_0}, // replica 3 workspace
    {29, 1, slots_0}, // replica 3 input
    {}, {}, {32, 1, slots_0}, // replica 3 input_grad
    {31, 1, slots_0}, // replica 3 saved_for_input_grad
    {33, 1, slots_0}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0, 3};
constexpr int32_t collective_1[] = {0, 1, 2, 3};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_0, 0},
    {CollectiveKind::GradientNorm, "", 4, collective_1, 0},
};
constexpr int32_t rank_of_replica[] = {0, 0, 0, 0};
constexpr RankDesc ranks[] = {
    {sequential_rank_0, nullptr},
};

} // namespace sequential


namespace pipeline {

static void rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 4; i3 += 1) {
    forward(rank, 0, i3);
    send(rank, Message::Activation, 0, i3);
  }
  for (int64_t i4 = 0; i4 < 4; i4 += 1) {
    recv(rank, Message::Gradient, 1, i4);
    backward(rank, 0, i4);
    forward(rank, 0, i4 + 4);
    send(rank, Message::Activation, 0, i4 + 4);
  }
  for (int64_t i5 = 4; i5 < 8; i5 += 1) {
    recv(rank, Message::Gradient, 1, i5);
    backward(rank, 0, i5);
  }
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 0);
  return;
}
// A row for each rank: replica, end, shift
constexpr int64_t ranks_1_to_2_row_1[] = {1, 3, -3};
constexpr int64_t ranks_1_to_2_row_2[] = {2, 2, -2};
static void ranks_1_to_2(Rank & v1, const int64_t* v2) {
  Rank &rank = v1;
  const int64_t replica = v2[0];
  const int64_t end = v2[1];
  const int64_t shift = v2[2];
  for (int64_t i3 = 0; i3 < end; i3 += 1) {
    recv(rank, Message::Activation, replica - 1, i3);
    forward(rank, replica, i3);
    send(rank, Message::Activation, replica, i3);
  }
  for (int64_t i4 = end; i4 < 8; i4 += 1) {
    recv(rank, Message::Activation, replica - 1, i4);
    recv(rank, Message::Gradient, replica + 1, i4 + shift);
    backward(rank, replica, i4 + shift);
    send(rank, Message::Gradient, replica, i4 + shift);
    forward(rank, replica, i4);
    send(rank, Message::Activation, replica, i4);
  }
  for (int64_t i5 = shift + 8; i5 < 8; i5 += 1) {
    recv(rank, Message::Gradient, replica + 1, i5);
    backward(rank, replica, i5);
    send(rank, Message::Gradient, replica, i5);
  }
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, replica);
  return;
}
static void rank_3(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  recv(rank, Message::Activation, 2, 0);
  recv(rank, Message::Activation, 2, 1);
  forward(rank, 3, 0);
  for (int64_t i3 = 0; i3 < 6; i3 += 1) {
    backward(rank, 3, i3);
    send(rank, Message::Gradient, 3, i3);
    forward(rank, 3, i3 + 1);
    recv(rank, Message::Activation, 2, i3 + 2);
  }
  backward(rank, 3, 6);
  send(rank, Message::Gradient, 3, 6);
  forward(rank, 3, 7);
  backward(rank, 3, 7);
  send(rank, Message::Gradient, 3, 7);
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 3);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {2, 1, 2, 1, 2, 1, 2};
constexpr uint16_t slots_1[] = {1, 2, 1, 2, 1, 2, 1};
constexpr uint16_t slots_2[] = {1, 1, 2, 1, 2, 1, 2};
constexpr uint16_t slots_3[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr SlotPartDesc later_0[] = {{3, 2, slots_0}};
constexpr SlotPartDesc later_1[] = {{6, 1, slots_2}};
constexpr SlotPartDesc later_2[] = {{6, 1, slots_0}};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 768534528, 1},
    {0, 768534528, 512356352, 1},
    {0, 1280890880, 1024712704, 1},
    {0, 2305603584, 960, 1},
    {0, 2305604544, 32768, 8},
    {1, 0, 453464064, 1},
    {1, 453464064, 302309376, 1},
    {1, 755773440, 604618752, 1},
    {1, 1360392192, 832, 1},
    {2, 0, 453464064, 1},
    {2, 453464064, 302309376, 1},
    {2, 755773440, 604618752, 1},
    {2, 1360392192, 832, 1},
    {3, 0, 762298368, 1},
    {3, 762298368, 508198912, 1},
    {3, 1270497280, 1016397824, 1},
    {3, 2286895104, 1024, 1},
    {3, 2286896128, 32768, 8},
    {0, 2305866688, 4194304, 1},
    {1, 1360393024, 4480, 1},
    {2, 1360393024, 4480, 1},
    {3, 2287158272, 4194304, 1},
    {0, 2310060992, 159908032, 1},
    {1, 1360397504, 159908032, 1},
    {2, 1360397504, 159908032, 1},
    {3, 2291352576, 159908032, 1},
    {0, 2469969024, 3538944, 4},
    {0, 2484124800, 16777216, 2},
    {0, 2517679232, 1627570176, 4},
    {1, 1520305536, 3538944, 3},
    {1, 1530922368, 16777216, 3},
    {1, 1581254016, 1610760192, 3},
    {2, 1520305536, 3538944, 2},
    {2, 1527383424, 16777216, 3},
    {2, 1577715072, 1610760192, 2},
    {3, 2451260608, 3571712, 1},
    {3, 2454832320, 16777216, 2},
    {3, 2488386752, 2451726336, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_3}, // replica 0 weights
    {1, 1, slots_3}, // replica 0 gradients
    {2, 1, slots_3}, // replica 0 moments
    {}, {3, 1, slots_3}, // replica 0 control
    {4, 8, slots_3}, // replica 0 data
    {22, 1, slots_3}, // replica 0 workspace
    {}, {27, 2, slots_3}, // replica 0 output
    {27, 2, slots_3}, // replica 0 output_grad
    {}, {26, 4, slots_3}, // replica 0 saved_for_input_grad
    {28, 4, slots_3}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_3}, // replica 1 weights
    {6, 1, slots_3}, // replica 1 gradients
    {7, 1, slots_3}, // replica 1 moments
    {}, {8, 1, slots_3}, // replica 1 control
    {}, {23, 1, slots_3}, // replica 1 workspace
    {30, 1, slots_3}, // replica 1 input
    {30, 1, slots_2, 1, later_0}, // replica 1 output
    {30, 2, slots_0, 1, later_1}, // replica 1 output_grad
    {30, 2, slots_1, 1, later_2}, // replica 1 input_grad
    {29, 3, slots_3}, // replica 1 saved_for_input_grad
    {31, 3, slots_3}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_3}, // replica 2 weights
    {10, 1, slots_3}, // replica 2 gradients
    {11, 1, slots_3}, // replica 2 moments
    {}, {12, 1, slots_3}, // replica 2 control
    {}, {24, 1, slots_3}, // replica 2 workspace
    {33, 1, slots_3}, // replica 2 input
    {33, 7, slots_2}, // replica 2 output
    {33, 7, slots_0}, // replica 2 output_grad
    {33, 7, slots_1}, // replica 2 input_grad
    {32, 2, slots_3}, // replica 2 saved_for_input_grad
    {34, 2, slots_3}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {13, 1, slots_3}, // replica 3 weights
    {14, 1, slots_3}, // replica 3 gradients
    {15, 1, slots_3}, // replica 3 moments
    {}, {16, 1, slots_3}, // replica 3 control
    {17, 8, slots_3}, // replica 3 data
    {25, 1, slots_3}, // replica 3 workspace
    {36, 2, slots_3}, // replica 3 input
    {}, {}, {36, 2, slots_3}, // replica 3 input_grad
    {35, 1, slots_3}, // replica 3 saved_for_input_grad
    {37, 1, slots_3}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0, 3};
constexpr int32_t collective_1[] = {0, 1, 2, 3};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_0, 0},
    {CollectiveKind::GradientNorm, "", 4, collective_1, 0},
};
// By rank: the pool where its collectives receive what they add.
constexpr int32_t staging[] = {18, 19, 20, 21};
constexpr int32_t rank_of_replica[] = {0, 1, 2, 3};
constexpr int64_t peak_memory_bytes[] = {6524436480, 4842897408, 3228598272,
    2455298048};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {5360553, 5979600, 4947865, 10927465, 0, 0, 0,
    0, 0, 5360520, 5979600, 4947798, 10927398, 0, 0, 0, 0, 0, 5360520,
    5979600, 4947798, 10927398, 0, 0, 0, 0, 0, 8733210, 9352290, 8320488,
    17672778, 0, 0, 0, 0, 0};
constexpr RankDesc ranks[] = {
    {rank_0, nullptr},
    {ranks_1_to_2, ranks_1_to_2_row_1},
    {ranks_1_to_2, ranks_1_to_2_row_2},
    {rank_3, nullptr},
};

} // namespace pipeline


namespace evaluation {

static void evaluation_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    send(rank, Message::Activation, 0, i3);
  }
  return;
}
// A row for each rank: replica
constexpr int64_t evaluation_ranks_1_to_2_row_1[] = {1};
constexpr int64_t evaluation_ranks_1_to_2_row_2[] = {2};
static void evaluation_ranks_1_to_2(Rank & v1, const int64_t* v2) {
  Rank &rank = v1;
  const int64_t replica = v2[0];
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    recv(rank, Message::Activation, replica - 1, i3);
    forward(rank, replica, i3);
    send(rank, Message::Activation, replica, i3);
  }
  return;
}
static void evaluation_rank_3(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  recv(rank, Message::Activation, 2, 0);
  for (int64_t i3 = 1; i3 < 8; i3 += 1) {
    recv(rank, Message::Activation, 2, i3);
    forward(rank, 3, i3 - 1);
  }
  forward(rank, 3, 7);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {1, 1, 1, 1, 2, 1, 2};
constexpr uint16_t slots_1[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 768534528, 1},
    {0, 768534528, 512356352, 1},
    {0, 1280890880, 1024712704, 1},
    {0, 2305603584, 960, 1},
    {0, 2305604544, 32768, 8},
    {1, 0, 453464064, 1},
    {1, 453464064, 302309376, 1},
    {1, 755773440, 604618752, 1},
    {1, 1360392192, 832, 1},
    {2, 0, 453464064, 1},
    {2, 453464064, 302309376, 1},
    {2, 755773440, 604618752, 1},
    {2, 1360392192, 832, 1},
    {3, 0, 762298368, 1},
    {3, 762298368, 508198912, 1},
    {3, 1270497280, 1016397824, 1},
    {3, 2286895104, 1024, 1},
    {3, 2286896128, 32768, 8},
    {0, 2305866688, 159908032, 1},
    {1, 1360393024, 159908032, 1},
    {2, 1360393024, 159908032, 1},
    {3, 2287158272, 159908032, 1},
    {0, 2465774720, 3538944, 1},
    {0, 2469313664, 16777216, 2},
    {0, 2502868096, 1627570176, 1},
    {1, 1520301056, 3538944, 1},
    {1, 1523840000, 16777216, 2},
    {1, 1557394432, 1610760192, 1},
    {2, 1520301056, 3538944, 1},
    {2, 1523840000, 16777216, 3},
    {2, 1574171648, 1610760192, 1},
    {3, 2447066304, 3571712, 1},
    {3, 2450638016, 16777216, 2},
    {3, 2484192448, 2451726336, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_1}, // replica 0 weights
    {1, 1, slots_1}, // replica 0 gradients
    {2, 1, slots_1}, // replica 0 moments
    {}, {3, 1, slots_1}, // replica 0 control
    {4, 8, slots_1}, // replica 0 data
    {18, 1, slots_1}, // replica 0 workspace
    {}, {23, 2, slots_1}, // replica 0 output
    {}, {}, {22, 1, slots_1}, // replica 0 saved_for_input_grad
    {24, 1, slots_1}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_1}, // replica 1 weights
    {6, 1, slots_1}, // replica 1 gradients
    {7, 1, slots_1}, // replica 1 moments
    {}, {8, 1, slots_1}, // replica 1 control
    {}, {19, 1, slots_1}, // replica 1 workspace
    {26, 1, slots_1}, // replica 1 input
    {26, 1, slots_0}, // replica 1 output
    {}, {}, {25, 1, slots_1}, // replica 1 saved_for_input_grad
    {27, 1, slots_1}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_1}, // replica 2 weights
    {10, 1, slots_1}, // replica 2 gradients
    {11, 1, slots_1}, // replica 2 moments
    {}, {12, 1, slots_1}, // replica 2 control
    {}, {20, 1, slots_1}, // replica 2 workspace
    {29, 1, slots_1}, // replica 2 input
    {29, 7, slots_0}, // replica 2 output
    {}, {}, {28, 1, slots_1}, // replica 2 saved_for_input_grad
    {30, 1, slots_1}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {13, 1, slots_1}, // replica 3 weights
    {14, 1, slots_1}, // replica 3 gradients
    {15, 1, slots_1}, // replica 3 moments
    {}, {16, 1, slots_1}, // replica 3 control
    {17, 8, slots_1}, // replica 3 data
    {21, 1, slots_1}, // replica 3 workspace
    {32, 2, slots_1}, // replica 3 input
    {}, {}, {}, {31, 1, slots_1}, // replica 3 saved_for_input_grad
    {33, 1, slots_1}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t rank_of_replica[] = {0, 1, 2, 3};
constexpr RankDesc ranks[] = {
    {evaluation_rank_0, nullptr},
    {evaluation_ranks_1_to_2, evaluation_ranks_1_to_2_row_1},
    {evaluation_ranks_1_to_2, evaluation_ranks_1_to_2_row_2},
    {evaluation_rank_3, nullptr},
};

} // namespace evaluation

} // namespace

// number, name, kind; micro-batches, samples of each, whether they
// are added in index order; layers, shares, edges; ranks;
// replicas' ranks; pools; places; collectives; predicted ns of an iteration, of
// all ranks' work; peak bytes by rank; where collectives receive; work
constexpr ProgramDesc programs[] = {
    {0, "sequential", ProgramKind::Sequential, 8, 8, true,
     layers, shares, edges, 1, sequential::ranks, sequential::rank_of_replica,
     34, sequential::pools, 80, sequential::places, 2, sequential::collectives,
     0, 0, nullptr, nullptr, nullptr},
    {1, "four_stages", ProgramKind::Pipeline, 8, 8, true,
     layers, shares, edges, 4, pipeline::ranks, pipeline::rank_of_replica,
     38, pipeline::pools, 80, pipeline::places, 2, pipeline::collectives,
     260111758, 602158736, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 8, true,
     layers, shares, edges, 4, evaluation::ranks, evaluation::rank_of_replica,
     34, evaluation::pools, 80, evaluation::places, 0, nullptr,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {9027959936, 6413534592, 4799235456,
    4940113088};
// from, to, latency in ns, bytes per us
constexpr LinkDesc links[] = {
    {0, 1, 0, 0},
    {1, 0, 0, 0},
    {1, 2, 0, 0},
    {2, 1, 0, 0},
    {2, 3, 0, 0},
    {3, 2, 0, 0},
};
constexpr Executable executable = {"four_stages", 26, layers, 4, stages, 4, replicas, 6, edges, 4, arena_bytes, 3, programs,
    &cudaBackend, 6, links, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


