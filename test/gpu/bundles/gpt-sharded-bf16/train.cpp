// Schedule @units of plan @step, written by rondo.

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
    {"wte", LayerKind::GptEmbedding, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 0, {}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h0", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {147456}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h1", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {147456}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h2", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {147456}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h3", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {147456}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"ln_f", LayerKind::GptHead, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {147456}, 0, 0,
     Target::Cuda, DType::Bf16},
};

// By replica: first sample, samples; turn, of how many; then bytes of:
// weights gradients moments weight_changes control data workspace input output output_grad input_grad saved_for_input_grad saved_for_weight_grad checkpoints recomputed_for_input_grad recomputed_for_weight_grad recomputed_input recomputed_output gathered_weights unreduced_gradients
constexpr ShareDesc shares[] = {
    {0, 2, 0, 1,
     {612096, 612096, 1224192, 0, 320, 1024, 9957568, 0, 73728, 73728, 0, 6144, 1257856, 0, 0, 0, 0, 0, 1836224, 1224192}},
    {2, 2, 0, 1,
     {612096, 612096, 1224192, 0, 320, 1024, 9957568, 0, 73728, 73728, 0, 6144, 1257856, 0, 0, 0, 0, 0, 1836224, 1224192}},
    {0, 2, 0, 1,
     {501504, 501504, 1003008, 0, 192, 0, 9883840, 73728, 73728, 73728, 73728, 6144, 1183104, 0, 0, 0, 0, 0, 1504448, 1003008}},
    {2, 2, 0, 1,
     {501504, 501504, 1003008, 0, 192, 0, 9883840, 73728, 73728, 73728, 73728, 6144, 1183104, 0, 0, 0, 0, 0, 1504448, 1003008}},
    {0, 2, 0, 1,
     {501504, 501504, 1003008, 0, 192, 0, 9883840, 73728, 73728, 73728, 73728, 6144, 1183104, 0, 0, 0, 0, 0, 1504448, 1003008}},
    {2, 2, 0, 1,
     {501504, 501504, 1003008, 0, 192, 0, 9883840, 73728, 73728, 73728, 73728, 6144, 1183104, 0, 0, 0, 0, 0, 1504448, 1003008}},
    {0, 2, 0, 1,
     {575744, 575744, 1151488, 0, 384, 1024, 9957568, 73728, 0, 0, 73728, 7168, 1389056, 0, 0, 0, 0, 0, 1727232, 1151488}},
    {2, 2, 0, 1,
     {575744, 575744, 1151488, 0, 384, 1024, 9957568, 73728, 0, 0, 73728, 7168, 1389056, 0, 0, 0, 0, 0, 1727232, 1151488}},
};

// from, to, message, bytes, place that it leaves and enters, where in each
constexpr EdgeDesc edges[] = {
    {0, 2, Message::Activation, 73728, 8, 47, 0, 0},
    {1, 3, Message::Activation, 73728, 28, 67, 0, 0},
    {2, 4, Message::Activation, 73728, 48, 87, 0, 0},
    {3, 5, Message::Activation, 73728, 68, 107, 0, 0},
    {4, 6, Message::Activation, 73728, 88, 127, 0, 0},
    {5, 7, Message::Activation, 73728, 108, 147, 0, 0},
    {2, 0, Message::Gradient, 73728, 50, 9, 0, 0},
    {3, 1, Message::Gradient, 73728, 70, 29, 0, 0},
    {4, 2, Message::Gradient, 73728, 90, 49, 0, 0},
    {5, 3, Message::Gradient, 73728, 110, 69, 0, 0},
    {6, 4, Message::Gradient, 73728, 130, 89, 0, 0},
    {7, 5, Message::Gradient, 73728, 150, 109, 0, 0},
};

// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 2},
    {"s1", 2, 1},
    {"s2", 3, 1},
    {"s3", 4, 2},
};

// stage, replica, rank, shard of how many
constexpr ReplicaDesc replicas[] = {
    {0, 0, 0, 0, 2},
    {0, 1, 1, 1, 2},
    {1, 0, 2, 0, 2},
    {1, 1, 3, 1, 2},
    {2, 0, 0, 0, 2},
    {2, 1, 1, 1, 2},
    {3, 0, 2, 0, 2},
    {3, 1, 3, 1, 2},
};


namespace sequential {

static void sequential_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 2; i3 += 1) {
    for (int64_t j4 = 0; j4 < 4; j4 += 1) {
      unshard(rank, 0, i3 * 8 + j4 * 2);
      forward(rank, 0, i3 * 4 + j4);
      reshard(rank, 0, i3 * 8 + j4 * 2);
      unshard(rank, 1, i3 * 8 + j4 * 2);
      forward(rank, 1, i3 * 4 + j4);
      reshard(rank, 1, i3 * 8 + j4 * 2);
      unshard(rank, 2, i3 * 8 + j4 * 2);
      forward(rank, 2, i3 * 4 + j4);
      reshard(rank, 2, i3 * 8 + j4 * 2);
      unshard(rank, 3, i3 * 8 + j4 * 2);
      forward(rank, 3, i3 * 4 + j4);
      reshard(rank, 3, i3 * 8 + j4 * 2);
      unshard(rank, 4, i3 * 8 + j4 * 2);
      forward(rank, 4, i3 * 4 + j4);
      reshard(rank, 4, i3 * 8 + j4 * 2);
      unshard(rank, 5, i3 * 8 + j4 * 2);
      forward(rank, 5, i3 * 4 + j4);
      reshard(rank, 5, i3 * 8 + j4 * 2);
      unshard(rank, 6, i3 * 8 + j4 * 2);
      forward(rank, 6, i3 * 4 + j4);
      reshard(rank, 6, i3 * 8 + j4 * 2);
      unshard(rank, 7, i3 * 8 + j4 * 2);
      forward(rank, 7, i3 * 4 + j4);
      reshard(rank, 7, i3 * 8 + j4 * 2);
      unshard(rank, 7, i3 * 8 + j4 * 2 + 1);
      backward(rank, 7, i3 * 4 + j4);
      reshard(rank, 7, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 6, i3 * 8 + j4 * 2 + 1);
      backward(rank, 6, i3 * 4 + j4);
      reshard(rank, 6, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 5, i3 * 8 + j4 * 2 + 1);
      backward(rank, 5, i3 * 4 + j4);
      reshard(rank, 5, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 4, i3 * 8 + j4 * 2 + 1);
      backward(rank, 4, i3 * 4 + j4);
      reshard(rank, 4, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 3, i3 * 8 + j4 * 2 + 1);
      backward(rank, 3, i3 * 4 + j4);
      reshard(rank, 3, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 2, i3 * 8 + j4 * 2 + 1);
      backward(rank, 2, i3 * 4 + j4);
      reshard(rank, 2, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 1, i3 * 8 + j4 * 2 + 1);
      backward(rank, 1, i3 * 4 + j4);
      reshard(rank, 1, i3 * 8 + j4 * 2 + 1);
      unshard(rank, 0, i3 * 8 + j4 * 2 + 1);
      backward(rank, 0, i3 * 4 + j4);
      reshard(rank, 0, i3 * 8 + j4 * 2 + 1);
    }
    reduce_grad(rank, 0, i3);
    reduce_grad(rank, 1, i3);
    reduce_grad(rank, 2, i3);
    reduce_grad(rank, 3, i3);
    reduce_grad(rank, 4, i3);
    reduce_grad(rank, 5, i3);
    reduce_grad(rank, 6, i3);
    reduce_grad(rank, 7, i3);
  }
  all_reduce(rank, 8);
  await(rank, 8, 0);
  all_reduce(rank, 9);
  await(rank, 9, 0);
  step(rank, 0);
  step(rank, 1);
  step(rank, 2);
  step(rank, 3);
  step(rank, 4);
  step(rank, 5);
  step(rank, 6);
  step(rank, 7);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {1};
constexpr uint16_t slots_1[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 612096, 1},
    {0, 612096, 612096, 1},
    {0, 1224192, 1224192, 1},
    {0, 2448384, 320, 1},
    {0, 2448704, 1024, 8},
    {1, 0, 612096, 1},
    {1, 612096, 612096, 1},
    {1, 1224192, 1224192, 1},
    {1, 2448384, 320, 1},
    {1, 2448704, 1024, 8},
    {2, 0, 501504, 1},
    {2, 501504, 501504, 1},
    {2, 1003008, 1003008, 1},
    {2, 2006016, 192, 1},
    {3, 0, 501504, 1},
    {3, 501504, 501504, 1},
    {3, 1003008, 1003008, 1},
    {3, 2006016, 192, 1},
    {0, 2456896, 501504, 1},
    {0, 2958400, 501504, 1},
    {0, 3459904, 1003008, 1},
    {0, 4462912, 192, 1},
    {1, 2456896, 501504, 1},
    {1, 2958400, 501504, 1},
    {1, 3459904, 1003008, 1},
    {1, 4462912, 192, 1},
    {2, 2006208, 575744, 1},
    {2, 2581952, 575744, 1},
    {2, 3157696, 1151488, 1},
    {2, 4309184, 384, 1},
    {2, 4309568, 1024, 8},
    {3, 2006208, 575744, 1},
    {3, 2581952, 575744, 1},
    {3, 3157696, 1151488, 1},
    {3, 4309184, 384, 1},
    {3, 4309568, 1024, 8},
    {0, 4463104, 9957568, 1},
    {1, 4463104, 9957568, 1},
    {2, 4317760, 9957568, 1},
    {3, 4317760, 9957568, 1},
    {0, 14420672, 6144, 2},
    {0, 14432960, 73728, 1},
    {0, 14506688, 1003008, 1},
    {0, 15509696, 1183104, 1},
    {0, 16692800, 1224192, 1},
    {0, 17916992, 1257856, 1},
    {0, 19174848, 1504448, 1},
    {0, 20679296, 1836224, 1},
    {1, 14420672, 6144, 2},
    {1, 14432960, 73728, 1},
    {1, 14506688, 1003008, 1},
    {1, 15509696, 1183104, 1},
    {1, 16692800, 1224192, 1},
    {1, 17916992, 1257856, 1},
    {1, 19174848, 1504448, 1},
    {1, 20679296, 1836224, 1},
    {2, 14275328, 6144, 1},
    {2, 14281472, 7168, 1},
    {2, 14288640, 73728, 1},
    {2, 14362368, 1003008, 1},
    {2, 15365376, 1151488, 1},
    {2, 16516864, 1183104, 1},
    {2, 17699968, 1389056, 1},
    {2, 19089024, 1504448, 1},
    {2, 20593472, 1727232, 1},
    {3, 14275328, 6144, 1},
    {3, 14281472, 7168, 1},
    {3, 14288640, 73728, 1},
    {3, 14362368, 1003008, 1},
    {3, 15365376, 1151488, 1},
    {3, 16516864, 1183104, 1},
    {3, 17699968, 1389056, 1},
    {3, 19089024, 1504448, 1},
    {3, 20593472, 1727232, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_1}, // replica 0 weights
    {1, 1, slots_1}, // replica 0 gradients
    {2, 1, slots_1}, // replica 0 moments
    {}, {3, 1, slots_1}, // replica 0 control
    {4, 8, slots_1}, // replica 0 data
    {36, 1, slots_1}, // replica 0 workspace
    {}, {41, 1, slots_1}, // replica 0 output
    {58, 1, slots_1}, // replica 0 output_grad
    {}, {40, 1, slots_1}, // replica 0 saved_for_input_grad
    {45, 1, slots_1}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {47, 1, slots_1}, // replica 0 gathered_weights
    {44, 1, slots_1}, // replica 0 unreduced_gradients
    {5, 1, slots_1}, // replica 1 weights
    {6, 1, slots_1}, // replica 1 gradients
    {7, 1, slots_1}, // replica 1 moments
    {}, {8, 1, slots_1}, // replica 1 control
    {9, 8, slots_1}, // replica 1 data
    {37, 1, slots_1}, // replica 1 workspace
    {}, {49, 1, slots_1}, // replica 1 output
    {67, 1, slots_1}, // replica 1 output_grad
    {}, {48, 1, slots_1}, // replica 1 saved_for_input_grad
    {53, 1, slots_1}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {55, 1, slots_1}, // replica 1 gathered_weights
    {52, 1, slots_1}, // replica 1 unreduced_gradients
    {10, 1, slots_1}, // replica 2 weights
    {11, 1, slots_1}, // replica 2 gradients
    {12, 1, slots_1}, // replica 2 moments
    {}, {13, 1, slots_1}, // replica 2 control
    {}, {38, 1, slots_1}, // replica 2 workspace
    {41, 1, slots_1}, // replica 2 input
    {58, 1, slots_1}, // replica 2 output
    {41, 1, slots_1}, // replica 2 output_grad
    {58, 1, slots_1}, // replica 2 input_grad
    {56, 1, slots_1}, // replica 2 saved_for_input_grad
    {61, 1, slots_1}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {63, 1, slots_1}, // replica 2 gathered_weights
    {59, 1, slots_1}, // replica 2 unreduced_gradients
    {14, 1, slots_1}, // replica 3 weights
    {15, 1, slots_1}, // replica 3 gradients
    {16, 1, slots_1}, // replica 3 moments
    {}, {17, 1, slots_1}, // replica 3 control
    {}, {39, 1, slots_1}, // replica 3 workspace
    {49, 1, slots_1}, // replica 3 input
    {67, 1, slots_1}, // replica 3 output
    {49, 1, slots_1}, // replica 3 output_grad
    {67, 1, slots_1}, // replica 3 input_grad
    {65, 1, slots_1}, // replica 3 saved_for_input_grad
    {70, 1, slots_1}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {72, 1, slots_1}, // replica 3 gathered_weights
    {68, 1, slots_1}, // replica 3 unreduced_gradients
    {18, 1, slots_1}, // replica 4 weights
    {19, 1, slots_1}, // replica 4 gradients
    {20, 1, slots_1}, // replica 4 moments
    {}, {21, 1, slots_1}, // replica 4 control
    {}, {36, 1, slots_1}, // replica 4 workspace
    {58, 1, slots_1}, // replica 4 input
    {41, 1, slots_1}, // replica 4 output
    {58, 1, slots_1}, // replica 4 output_grad
    {41, 1, slots_1}, // replica 4 input_grad
    {40, 1, slots_0}, // replica 4 saved_for_input_grad
    {43, 1, slots_1}, // replica 4 saved_for_weight_grad
    {}, {}, {}, {}, {}, {46, 1, slots_1}, // replica 4 gathered_weights
    {42, 1, slots_1}, // replica 4 unreduced_gradients
    {22, 1, slots_1}, // replica 5 weights
    {23, 1, slots_1}, // replica 5 gradients
    {24, 1, slots_1}, // replica 5 moments
    {}, {25, 1, slots_1}, // replica 5 control
    {}, {37, 1, slots_1}, // replica 5 workspace
    {67, 1, slots_1}, // replica 5 input
    {49, 1, slots_1}, // replica 5 output
    {67, 1, slots_1}, // replica 5 output_grad
    {49, 1, slots_1}, // replica 5 input_grad
    {48, 1, slots_0}, // replica 5 saved_for_input_grad
    {51, 1, slots_1}, // replica 5 saved_for_weight_grad
    {}, {}, {}, {}, {}, {54, 1, slots_1}, // replica 5 gathered_weights
    {50, 1, slots_1}, // replica 5 unreduced_gradients
    {26, 1, slots_1}, // replica 6 weights
    {27, 1, slots_1}, // replica 6 gradients
    {28, 1, slots_1}, // replica 6 moments
    {}, {29, 1, slots_1}, // replica 6 control
    {30, 8, slots_1}, // replica 6 data
    {38, 1, slots_1}, // replica 6 workspace
    {41, 1, slots_1}, // replica 6 input
    {}, {}, {58, 1, slots_1}, // replica 6 input_grad
    {57, 1, slots_1}, // replica 6 saved_for_input_grad
    {62, 1, slots_1}, // replica 6 saved_for_weight_grad
    {}, {}, {}, {}, {}, {64, 1, slots_1}, // replica 6 gathered_weights
    {60, 1, slots_1}, // replica 6 unreduced_gradients
    {31, 1, slots_1}, // replica 7 weights
    {32, 1, slots_1}, // replica 7 gradients
    {33, 1, slots_1}, // replica 7 moments
    {}, {34, 1, slots_1}, // replica 7 control
    {35, 8, slots_1}, // replica 7 data
    {39, 1, slots_1}, // replica 7 workspace
    {49, 1, slots_1}, // replica 7 input
    {}, {}, {67, 1, slots_1}, // replica 7 input_grad
    {66, 1, slots_1}, // replica 7 saved_for_input_grad
    {71, 1, slots_1}, // replica 7 saved_for_weight_grad
    {}, {}, {}, {}, {}, {73, 1, slots_1}, // replica 7 gathered_weights
    {69, 1, slots_1}, // replica 7 unreduced_gradients
};
constexpr int32_t collective_0[] = {0, 1};
constexpr int32_t collective_1[] = {2, 3};
constexpr int32_t collective_2[] = {4, 5};
constexpr int32_t collective_3[] = {6, 7};
constexpr int32_t collective_4[] = {0, 1};
constexpr int32_t collective_5[] = {2, 3};
constexpr int32_t collective_6[] = {4, 5};
constexpr int32_t collective_7[] = {6, 7};
constexpr int32_t collective_8[] = {0, 7};
constexpr int32_t collective_9[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::GatherWeights, "", 2, collective_0, 127420},
    {CollectiveKind::GatherWeights, "", 2, collective_1, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_2, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_3, 120149},
    {CollectiveKind::ScatterGradients, "", 2, collective_4, 127420},
    {CollectiveKind::ScatterGradients, "", 2, collective_5, 105301},
    {CollectiveKind::ScatterGradients, "", 2, collective_6, 105301},
    {CollectiveKind::ScatterGradients, "", 2, collective_7, 120149},
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_8, 0, 0, 36864},
    {CollectiveKind::GradientNorm, "", 8, collective_9, 0},
};
constexpr int32_t rank_of_replica[] = {0, 0, 0, 0, 0, 0, 0, 0};
constexpr RankDesc ranks[] = {
    {sequential_rank_0, nullptr},
};

} // namespace sequential


namespace pipeline {

static void rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  unshard(rank, 0, 0);
  unshard(rank, 4, 0);
  await(rank, 0, 0);
  forward(rank, 0, 0);
  send(rank, Message::Activation, 0, 0);
  for (int64_t i3 = 1; i3 < 4; i3 += 1) {
    forward(rank, 0, i3);
    send(rank, Message::Activation, 0, i3);
    recv(rank, Message::Activation, 2, i3 - 1);
  }
  await(rank, 2, 0);
  forward(rank, 4, 0);
  send(rank, Message::Activation, 4, 0);
  recv(rank, Message::Activation, 2, 3);
  forward(rank, 4, 1);
  send(rank, Message::Activation, 4, 1);
  forward(rank, 4, 2);
  send(rank, Message::Activation, 4, 2);
  recv(rank, Message::Gradient, 6, 0);
  forward(rank, 4, 3);
  send(rank, Message::Activation, 4, 3);
  input_grad(rank, 4, 0);
  send(rank, Message::Gradient, 4, 0);
  recv(rank, Message::Gradient, 6, 1);
  weight_grad(rank, 4, 0);
  for (int64_t i4 = 1; i4 < 3; i4 += 1) {
    input_grad(rank, 4, i4);
    send(rank, Message::Gradient, 4, i4);
    weight_grad(rank, 4, i4);
    recv(rank, Message::Gradient, 6, i4 + 1);
  }
  recv(rank, Message::Gradient, 2, 0);
  input_grad(rank, 4, 3);
  send(rank, Message::Gradient, 4, 3);
  for (int64_t i5 = 1; i5 < 4; i5 += 1) {
    recv(rank, Message::Gradient, 2, i5);
    input_grad(rank, 0, i5 - 1);
  }
  input_grad(rank, 0, 3);
  forward(rank, 0, 4);
  send(rank, Message::Activation, 0, 4);
  for (int64_t i6 = 5; i6 < 7; i6 += 1) {
    forward(rank, 0, i6);
    send(rank, Message::Activation, 0, i6);
    recv(rank, Message::Activation, 2, i6 - 1);
  }
  weight_grad(rank, 4, 3);
  reduce_grad(rank, 4, 0);
  forward(rank, 0, 7);
  send(rank, Message::Activation, 0, 7);
  recv(rank, Message::Activation, 2, 6);
  await(rank, 6, 0);
  weight_grad(rank, 0, 0);
  forward(rank, 4, 4);
  send(rank, Message::Activation, 4, 4);
  recv(rank, Message::Activation, 2, 7);
  weight_grad(rank, 0, 1);
  forward(rank, 4, 5);
  send(rank, Message::Activation, 4, 5);
  weight_grad(rank, 0, 2);
  recv(rank, Message::Gradient, 6, 4);
  forward(rank, 4, 6);
  send(rank, Message::Activation, 4, 6);
  input_grad(rank, 4, 4);
  send(rank, Message::Gradient, 4, 4);
  weight_grad(rank, 0, 3);
  reduce_grad(rank, 0, 0);
  forward(rank, 4, 7);
  send(rank, Message::Activation, 4, 7);
  recv(rank, Message::Gradient, 6, 5);
  await(rank, 4, 0);
  weight_grad(rank, 4, 4);
  for (int64_t i7 = 5; i7 < 7; i7 += 1) {
    input_grad(rank, 4, i7);
    send(rank, Message::Gradient, 4, i7);
    weight_grad(rank, 4, i7);
    recv(rank, Message::Gradient, 6, i7 + 1);
  }
  recv(rank, Message::Gradient, 2, 4);
  input_grad(rank, 4, 7);
  send(rank, Message::Gradient, 4, 7);
  for (int64_t i8 = 5; i8 < 8; i8 += 1) {
    recv(rank, Message::Gradient, 2, i8);
    input_grad(rank, 0, i8 - 1);
  }
  input_grad(rank, 0, 7);
  weight_grad(rank, 4, 7);
  reshard(rank, 4, 0);
  reduce_grad(rank, 4, 1);
  weight_grad(rank, 0, 4);
  await(rank, 6, 1);
  for (int64_t i9 = 5; i9 < 8; i9 += 1) {
    weight_grad(rank, 0, i9);
  }
  reshard(rank, 0, 0);
  reduce_grad(rank, 0, 1);
  await(rank, 4, 1);
  all_reduce(rank, 8);
  await(rank, 8, 0);
  all_reduce(rank, 9);
  await(rank, 9, 0);
  step(rank, 0);
  step(rank, 4);
  return;
}
static void rank_1(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  unshard(rank, 1, 0);
  unshard(rank, 5, 0);
  await(rank, 0, 0);
  forward(rank, 1, 0);
  send(rank, Message::Activation, 1, 0);
  for (int64_t i3 = 1; i3 < 4; i3 += 1) {
    forward(rank, 1, i3);
    send(rank, Message::Activation, 1, i3);
    recv(rank, Message::Activation, 3, i3 - 1);
  }
  await(rank, 2, 0);
  forward(rank, 5, 0);
  send(rank, Message::Activation, 5, 0);
  recv(rank, Message::Activation, 3, 3);
  forward(rank, 5, 1);
  send(rank, Message::Activation, 5, 1);
  forward(rank, 5, 2);
  send(rank, Message::Activation, 5, 2);
  recv(rank, Message::Gradient, 7, 0);
  forward(rank, 5, 3);
  send(rank, Message::Activation, 5, 3);
  input_grad(rank, 5, 0);
  send(rank, Message::Gradient, 5, 0);
  recv(rank, Message::Gradient, 7, 1);
  weight_grad(rank, 5, 0);
  for (int64_t i4 = 1; i4 < 3; i4 += 1) {
    input_grad(rank, 5, i4);
    send(rank, Message::Gradient, 5, i4);
    weight_grad(rank, 5, i4);
    recv(rank, Message::Gradient, 7, i4 + 1);
  }
  recv(rank, Message::Gradient, 3, 0);
  input_grad(rank, 5, 3);
  send(rank, Message::Gradient, 5, 3);
  for (int64_t i5 = 1; i5 < 4; i5 += 1) {
    recv(rank, Message::Gradient, 3, i5);
    input_grad(rank, 1, i5 - 1);
  }
  input_grad(rank, 1, 3);
  forward(rank, 1, 4);
  send(rank, Message::Activation, 1, 4);
  for (int64_t i6 = 5; i6 < 7; i6 += 1) {
    forward(rank, 1, i6);
    send(rank, Message::Activation, 1, i6);
    recv(rank, Message::Activation, 3, i6 - 1);
  }
  weight_grad(rank, 5, 3);
  reduce_grad(rank, 5, 0);
  forward(rank, 1, 7);
  send(rank, Message::Activation, 1, 7);
  recv(rank, Message::Activation, 3, 6);
  await(rank, 6, 0);
  weight_grad(rank, 1, 0);
  forward(rank, 5, 4);
  send(rank, Message::Activation, 5, 4);
  recv(rank, Message::Activation, 3, 7);
  weight_grad(rank, 1, 1);
  forward(rank, 5, 5);
  send(rank, Message::Activation, 5, 5);
  weight_grad(rank, 1, 2);
  recv(rank, Message::Gradient, 7, 4);
  forward(rank, 5, 6);
  send(rank, Message::Activation, 5, 6);
  input_grad(rank, 5, 4);
  send(rank, Message::Gradient, 5, 4);
  weight_grad(rank, 1, 3);
  reduce_grad(rank, 1, 0);
  forward(rank, 5, 7);
  send(rank, Message::Activation, 5, 7);
  recv(rank, Message::Gradient, 7, 5);
  await(rank, 4, 0);
  weight_grad(rank, 5, 4);
  for (int64_t i7 = 5; i7 < 7; i7 += 1) {
    input_grad(rank, 5, i7);
    send(rank, Message::Gradient, 5, i7);
    weight_grad(rank, 5, i7);
    recv(rank, Message::Gradient, 7, i7 + 1);
  }
  recv(rank, Message::Gradient, 3, 4);
  input_grad(rank, 5, 7);
  send(rank, Message::Gradient, 5, 7);
  for (int64_t i8 = 5; i8 < 8; i8 += 1) {
    recv(rank, Message::Gradient, 3, i8);
    input_grad(rank, 1, i8 - 1);
  }
  input_grad(rank, 1, 7);
  weight_grad(rank, 5, 7);
  reshard(rank, 5, 0);
  reduce_grad(rank, 5, 1);
  weight_grad(rank, 1, 4);
  await(rank, 6, 1);
  for (int64_t i9 = 5; i9 < 8; i9 += 1) {
    weight_grad(rank, 1, i9);
  }
  reshard(rank, 1, 0);
  reduce_grad(rank, 1, 1);
  await(rank, 4, 1);
  all_reduce(rank, 9);
  await(rank, 9, 0);
  step(rank, 1);
  step(rank, 5);
  return;
}
static void rank_2(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  unshard(rank, 2, 0);
  unshard(rank, 6, 0);
  recv(rank, Message::Activation, 0, 0);
  recv(rank, Message::Activation, 0, 1);
  await(rank, 1, 0);
  for (int64_t i3 = 0; i3 < 2; i3 += 1) {
    forward(rank, 2, i3);
    send(rank, Message::Activation, 2, i3);
    recv(rank, Message::Activation, 0, i3 + 2);
  }
  for (int64_t i4 = 2; i4 < 4; i4 += 1) {
    forward(rank, 2, i4);
    send(rank, Message::Activation, 2, i4);
    recv(rank, Message::Activation, 4, i4 - 2);
  }
  await(rank, 3, 0);
  forward(rank, 6, 0);
  recv(rank, Message::Activation, 4, 2);
  input_grad(rank, 6, 0);
  send(rank, Message::Gradient, 6, 0);
  recv(rank, Message::Activation, 4, 3);
  for (int64_t i5 = 1; i5 < 3; i5 += 1) {
    forward(rank, 6, i5);
    recv(rank, Message::Gradient, 4, i5 - 1);
    input_grad(rank, 6, i5);
    send(rank, Message::Gradient, 6, i5);
  }
  recv(rank, Message::Gradient, 4, 2);
  forward(rank, 6, 3);
  input_grad(rank, 6, 3);
  send(rank, Message::Gradient, 6, 3);
  input_grad(rank, 2, 0);
  send(rank, Message::Gradient, 2, 0);
  recv(rank, Message::Gradient, 4, 3);
  for (int64_t i6 = 1; i6 < 4; i6 += 1) {
    input_grad(rank, 2, i6);
    send(rank, Message::Gradient, 2, i6);
  }
  weight_grad(rank, 6, 0);
  recv(rank, Message::Activation, 0, 4);
  weight_grad(rank, 6, 1);
  for (int64_t i7 = 5; i7 < 7; i7 += 1) {
    recv(rank, Message::Activation, 0, i7);
    forward(rank, 2, i7 - 1);
    send(rank, Message::Activation, 2, i7 - 1);
  }
  weight_grad(rank, 6, 2);
  recv(rank, Message::Activation, 0, 7);
  forward(rank, 2, 6);
  send(rank, Message::Activation, 2, 6);
  weight_grad(rank, 6, 3);
  reduce_grad(rank, 6, 0);
  recv(rank, Message::Activation, 4, 4);
  forward(rank, 2, 7);
  send(rank, Message::Activation, 2, 7);
  await(rank, 7, 0);
  weight_grad(rank, 2, 0);
  recv(rank, Message::Activation, 4, 5);
  forward(rank, 6, 4);
  input_grad(rank, 6, 4);
  send(rank, Message::Gradient, 6, 4);
  recv(rank, Message::Activation, 4, 6);
  weight_grad(rank, 2, 1);
  recv(rank, Message::Gradient, 4, 4);
  forward(rank, 6, 5);
  recv(rank, Message::Activation, 4, 7);
  input_grad(rank, 6, 5);
  send(rank, Message::Gradient, 6, 5);
  weight_grad(rank, 2, 2);
  recv(rank, Message::Gradient, 4, 5);
  forward(rank, 6, 6);
  input_grad(rank, 6, 6);
  send(rank, Message::Gradient, 6, 6);
  weight_grad(rank, 2, 3);
  reduce_grad(rank, 2, 0);
  recv(rank, Message::Gradient, 4, 6);
  forward(rank, 6, 7);
  await(rank, 5, 0);
  input_grad(rank, 6, 7);
  send(rank, Message::Gradient, 6, 7);
  input_grad(rank, 2, 4);
  send(rank, Message::Gradient, 2, 4);
  recv(rank, Message::Gradient, 4, 7);
  for (int64_t i8 = 5; i8 < 8; i8 += 1) {
    input_grad(rank, 2, i8);
    send(rank, Message::Gradient, 2, i8);
  }
  for (int64_t i9 = 4; i9 < 8; i9 += 1) {
    weight_grad(rank, 6, i9);
  }
  reshard(rank, 6, 0);
  reduce_grad(rank, 6, 1);
  weight_grad(rank, 2, 4);
  await(rank, 7, 1);
  for (int64_t i10 = 5; i10 < 8; i10 += 1) {
    weight_grad(rank, 2, i10);
  }
  reshard(rank, 2, 0);
  reduce_grad(rank, 2, 1);
  await(rank, 5, 1);
  all_reduce(rank, 9);
  await(rank, 9, 0);
  step(rank, 2);
  step(rank, 6);
  return;
}
static void rank_3(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  unshard(rank, 3, 0);
  unshard(rank, 7, 0);
  recv(rank, Message::Activation, 1, 0);
  recv(rank, Message::Activation, 1, 1);
  await(rank, 1, 0);
  for (int64_t i3 = 0; i3 < 2; i3 += 1) {
    forward(rank, 3, i3);
    send(rank, Message::Activation, 3, i3);
    recv(rank, Message::Activation, 1, i3 + 2);
  }
  for (int64_t i4 = 2; i4 < 4; i4 += 1) {
    forward(rank, 3, i4);
    send(rank, Message::Activation, 3, i4);
    recv(rank, Message::Activation, 5, i4 - 2);
  }
  await(rank, 3, 0);
  forward(rank, 7, 0);
  recv(rank, Message::Activation, 5, 2);
  input_grad(rank, 7, 0);
  send(rank, Message::Gradient, 7, 0);
  recv(rank, Message::Activation, 5, 3);
  for (int64_t i5 = 1; i5 < 3; i5 += 1) {
    forward(rank, 7, i5);
    recv(rank, Message::Gradient, 5, i5 - 1);
    input_grad(rank, 7, i5);
    send(rank, Message::Gradient, 7, i5);
  }
  recv(rank, Message::Gradient, 5, 2);
  forward(rank, 7, 3);
  input_grad(rank, 7, 3);
  send(rank, Message::Gradient, 7, 3);
  input_grad(rank, 3, 0);
  send(rank, Message::Gradient, 3, 0);
  recv(rank, Message::Gradient, 5, 3);
  for (int64_t i6 = 1; i6 < 4; i6 += 1) {
    input_grad(rank, 3, i6);
    send(rank, Message::Gradient, 3, i6);
  }
  weight_grad(rank, 7, 0);
  recv(rank, Message::Activation, 1, 4);
  weight_grad(rank, 7, 1);
  for (int64_t i7 = 5; i7 < 7; i7 += 1) {
    recv(rank, Message::Activation, 1, i7);
    forward(rank, 3, i7 - 1);
    send(rank, Message::Activation, 3, i7 - 1);
  }
  weight_grad(rank, 7, 2);
  recv(rank, Message::Activation, 1, 7);
  forward(rank, 3, 6);
  send(rank, Message::Activation, 3, 6);
  weight_grad(rank, 7, 3);
  reduce_grad(rank, 7, 0);
  recv(rank, Message::Activation, 5, 4);
  forward(rank, 3, 7);
  send(rank, Message::Activation, 3, 7);
  await(rank, 7, 0);
  weight_grad(rank, 3, 0);
  recv(rank, Message::Activation, 5, 5);
  forward(rank, 7, 4);
  input_grad(rank, 7, 4);
  send(rank, Message::Gradient, 7, 4);
  recv(rank, Message::Activation, 5, 6);
  weight_grad(rank, 3, 1);
  recv(rank, Message::Gradient, 5, 4);
  forward(rank, 7, 5);
  recv(rank, Message::Activation, 5, 7);
  input_grad(rank, 7, 5);
  send(rank, Message::Gradient, 7, 5);
  weight_grad(rank, 3, 2);
  recv(rank, Message::Gradient, 5, 5);
  forward(rank, 7, 6);
  input_grad(rank, 7, 6);
  send(rank, Message::Gradient, 7, 6);
  weight_grad(rank, 3, 3);
  reduce_grad(rank, 3, 0);
  recv(rank, Message::Gradient, 5, 6);
  forward(rank, 7, 7);
  await(rank, 5, 0);
  input_grad(rank, 7, 7);
  send(rank, Message::Gradient, 7, 7);
  input_grad(rank, 3, 4);
  send(rank, Message::Gradient, 3, 4);
  recv(rank, Message::Gradient, 5, 7);
  for (int64_t i8 = 5; i8 < 8; i8 += 1) {
    input_grad(rank, 3, i8);
    send(rank, Message::Gradient, 3, i8);
  }
  for (int64_t i9 = 4; i9 < 8; i9 += 1) {
    weight_grad(rank, 7, i9);
  }
  reshard(rank, 7, 0);
  reduce_grad(rank, 7, 1);
  weight_grad(rank, 3, 4);
  await(rank, 7, 1);
  for (int64_t i10 = 5; i10 < 8; i10 += 1) {
    weight_grad(rank, 3, i10);
  }
  reshard(rank, 3, 0);
  reduce_grad(rank, 3, 1);
  await(rank, 5, 1);
  all_reduce(rank, 8);
  await(rank, 8, 0);
  all_reduce(rank, 9);
  await(rank, 9, 0);
  step(rank, 3);
  step(rank, 7);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {4, 5, 6, 7};
constexpr uint16_t slots_1[] = {4, 0, 4, 2, 0, 4, 2};
constexpr uint16_t slots_2[] = {3, 3, 3, 3, 0, 3, 0};
constexpr uint16_t slots_3[] = {3, 0, 4, 3, 0, 3, 2, 0};
constexpr uint16_t slots_4[] = {2, 3, 4};
constexpr uint16_t slots_5[] = {2, 1, 2, 1, 4, 1, 4};
constexpr uint16_t slots_6[] = {2, 0};
constexpr uint16_t slots_7[] = {1};
constexpr uint16_t slots_8[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr uint16_t slots_9[] = {0, 1, 0, 1, 0, 1, 1};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 612096, 1},
    {0, 612096, 612096, 1},
    {0, 1224192, 1224192, 1},
    {0, 2448384, 320, 1},
    {0, 2448704, 1024, 8},
    {1, 0, 612096, 1},
    {1, 612096, 612096, 1},
    {1, 1224192, 1224192, 1},
    {1, 2448384, 320, 1},
    {1, 2448704, 1024, 8},
    {2, 0, 501504, 1},
    {2, 501504, 501504, 1},
    {2, 1003008, 1003008, 1},
    {2, 2006016, 192, 1},
    {3, 0, 501504, 1},
    {3, 501504, 501504, 1},
    {3, 1003008, 1003008, 1},
    {3, 2006016, 192, 1},
    {0, 2456896, 501504, 1},
    {0, 2958400, 501504, 1},
    {0, 3459904, 1003008, 1},
    {0, 4462912, 192, 1},
    {1, 2456896, 501504, 1},
    {1, 2958400, 501504, 1},
    {1, 3459904, 1003008, 1},
    {1, 4462912, 192, 1},
    {2, 2006208, 575744, 1},
    {2, 2581952, 575744, 1},
    {2, 3157696, 1151488, 1},
    {2, 4309184, 384, 1},
    {2, 4309568, 1024, 8},
    {3, 2006208, 575744, 1},
    {3, 2581952, 575744, 1},
    {3, 3157696, 1151488, 1},
    {3, 4309184, 384, 1},
    {3, 4309568, 1024, 8},
    {0, 4463104, 612096, 1},
    {1, 4463104, 612096, 1},
    {2, 4317760, 575744, 1},
    {3, 4317760, 575744, 1},
    {0, 5075200, 9957568, 1},
    {1, 5075200, 9957568, 1},
    {2, 4893504, 9957568, 1},
    {3, 4893504, 9957568, 1},
    {0, 15032768, 6144, 8},
    {0, 15081920, 73728, 5},
    {0, 15450560, 1003008, 1},
    {0, 16453568, 1183104, 4},
    {0, 21185984, 1224192, 1},
    {0, 22410176, 1257856, 8},
    {0, 32473024, 1504448, 1},
    {0, 33977472, 1836224, 1},
    {1, 15032768, 6144, 8},
    {1, 15081920, 73728, 5},
    {1, 15450560, 1003008, 1},
    {1, 16453568, 1183104, 4},
    {1, 21185984, 1224192, 1},
    {1, 22410176, 1257856, 8},
    {1, 32473024, 1504448, 1},
    {1, 33977472, 1836224, 1},
    {2, 14851072, 6144, 4},
    {2, 14875648, 7168, 1},
    {2, 14882816, 73728, 5},
    {2, 15251456, 1003008, 1},
    {2, 16254464, 1151488, 1},
    {2, 17405952, 1183104, 8},
    {2, 26870784, 1389056, 4},
    {2, 32427008, 1504448, 1},
    {2, 33931456, 1727232, 1},
    {3, 14851072, 6144, 4},
    {3, 14875648, 7168, 1},
    {3, 14882816, 73728, 5},
    {3, 15251456, 1003008, 1},
    {3, 16254464, 1151488, 1},
    {3, 17405952, 1183104, 8},
    {3, 26870784, 1389056, 4},
    {3, 32427008, 1504448, 1},
    {3, 33931456, 1727232, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_9}, // replica 0 weights
    {1, 1, slots_9}, // replica 0 gradients
    {2, 1, slots_9}, // replica 0 moments
    {}, {3, 1, slots_9}, // replica 0 control
    {4, 8, slots_8}, // replica 0 data
    {40, 1, slots_9}, // replica 0 workspace
    {}, {45, 2, slots_9}, // replica 0 output
    {45, 2, slots_6}, // replica 0 output_grad
    {}, {44, 4, slots_8}, // replica 0 saved_for_input_grad
    {49, 8, slots_8}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {51, 1, slots_9}, // replica 0 gathered_weights
    {48, 1, slots_9}, // replica 0 unreduced_gradients
    {5, 1, slots_9}, // replica 1 weights
    {6, 1, slots_9}, // replica 1 gradients
    {7, 1, slots_9}, // replica 1 moments
    {}, {8, 1, slots_9}, // replica 1 control
    {9, 8, slots_8}, // replica 1 data
    {41, 1, slots_9}, // replica 1 workspace
    {}, {53, 2, slots_9}, // replica 1 output
    {53, 2, slots_6}, // replica 1 output_grad
    {}, {52, 4, slots_8}, // replica 1 saved_for_input_grad
    {57, 8, slots_8}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {59, 1, slots_9}, // replica 1 gathered_weights
    {56, 1, slots_9}, // replica 1 unreduced_gradients
    {10, 1, slots_9}, // replica 2 weights
    {11, 1, slots_9}, // replica 2 gradients
    {12, 1, slots_9}, // replica 2 moments
    {}, {13, 1, slots_9}, // replica 2 control
    {}, {42, 1, slots_9}, // replica 2 workspace
    {62, 2, slots_9}, // replica 2 input
    {62, 2, slots_4}, // replica 2 output
    {62, 8, slots_3}, // replica 2 output_grad
    {62, 7, slots_5}, // replica 2 input_grad
    {60, 4, slots_8}, // replica 2 saved_for_input_grad
    {65, 8, slots_8}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {67, 1, slots_9}, // replica 2 gathered_weights
    {63, 1, slots_9}, // replica 2 unreduced_gradients
    {14, 1, slots_9}, // replica 3 weights
    {15, 1, slots_9}, // replica 3 gradients
    {16, 1, slots_9}, // replica 3 moments
    {}, {17, 1, slots_9}, // replica 3 control
    {}, {43, 1, slots_9}, // replica 3 workspace
    {71, 2, slots_9}, // replica 3 input
    {71, 2, slots_4}, // replica 3 output
    {71, 8, slots_3}, // replica 3 output_grad
    {71, 7, slots_5}, // replica 3 input_grad
    {69, 4, slots_8}, // replica 3 saved_for_input_grad
    {74, 8, slots_8}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {76, 1, slots_9}, // replica 3 gathered_weights
    {72, 1, slots_9}, // replica 3 unreduced_gradients
    {18, 1, slots_9}, // replica 4 weights
    {19, 1, slots_9}, // replica 4 gradients
    {20, 1, slots_9}, // replica 4 moments
    {}, {21, 1, slots_9}, // replica 4 control
    {}, {40, 1, slots_9}, // replica 4 workspace
    {45, 3, slots_4}, // replica 4 input
    {45, 7, slots_9}, // replica 4 output
    {45, 7, slots_2}, // replica 4 output_grad
    {45, 1, slots_1}, // replica 4 input_grad
    {44, 4, slots_0}, // replica 4 saved_for_input_grad
    {47, 4, slots_8}, // replica 4 saved_for_weight_grad
    {}, {}, {}, {}, {}, {50, 1, slots_9}, // replica 4 gathered_weights
    {46, 1, slots_9}, // replica 4 unreduced_gradients
    {22, 1, slots_9}, // replica 5 weights
    {23, 1, slots_9}, // replica 5 gradients
    {24, 1, slots_9}, // replica 5 moments
    {}, {25, 1, slots_9}, // replica 5 control
    {}, {41, 1, slots_9}, // replica 5 workspace
    {53, 3, slots_4}, // replica 5 input
    {53, 7, slots_9}, // replica 5 output
    {53, 7, slots_2}, // replica 5 output_grad
    {53, 1, slots_1}, // replica 5 input_grad
    {52, 4, slots_0}, // replica 5 saved_for_input_grad
    {55, 4, slots_8}, // replica 5 saved_for_weight_grad
    {}, {}, {}, {}, {}, {58, 1, slots_9}, // replica 5 gathered_weights
    {54, 1, slots_9}, // replica 5 unreduced_gradients
    {26, 1, slots_9}, // replica 6 weights
    {27, 1, slots_9}, // replica 6 gradients
    {28, 1, slots_9}, // replica 6 moments
    {}, {29, 1, slots_9}, // replica 6 control
    {30, 8, slots_8}, // replica 6 data
    {42, 1, slots_9}, // replica 6 workspace
    {62, 7, slots_1}, // replica 6 input
    {}, {}, {62, 1, slots_7}, // replica 6 input_grad
    {61, 1, slots_9}, // replica 6 saved_for_input_grad
    {66, 4, slots_8}, // replica 6 saved_for_weight_grad
    {}, {}, {}, {}, {}, {68, 1, slots_9}, // replica 6 gathered_weights
    {64, 1, slots_9}, // replica 6 unreduced_gradients
    {31, 1, slots_9}, // replica 7 weights
    {32, 1, slots_9}, // replica 7 gradients
    {33, 1, slots_9}, // replica 7 moments
    {}, {34, 1, slots_9}, // replica 7 control
    {35, 8, slots_8}, // replica 7 data
    {43, 1, slots_9}, // replica 7 workspace
    {71, 7, slots_1}, // replica 7 input
    {}, {}, {71, 1, slots_7}, // replica 7 input_grad
    {70, 1, slots_9}, // replica 7 saved_for_input_grad
    {75, 4, slots_8}, // replica 7 saved_for_weight_grad
    {}, {}, {}, {}, {}, {77, 1, slots_9}, // replica 7 gathered_weights
    {73, 1, slots_9}, // replica 7 unreduced_gradients
};
constexpr int32_t collective_0[] = {0, 1};
constexpr int32_t collective_1[] = {2, 3};
constexpr int32_t collective_2[] = {4, 5};
constexpr int32_t collective_3[] = {6, 7};
constexpr int32_t collective_4[] = {0, 1};
constexpr int32_t collective_5[] = {2, 3};
constexpr int32_t collective_6[] = {4, 5};
constexpr int32_t collective_7[] = {6, 7};
constexpr int32_t collective_8[] = {0, 7};
constexpr int32_t collective_9[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::GatherWeights, "", 2, collective_0, 127420},
    {CollectiveKind::GatherWeights, "", 2, collective_1, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_2, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_3, 120149},
    {CollectiveKind::ScatterGradients, "", 2, collective_4, 127420},
    {CollectiveKind::ScatterGradients, "", 2, collective_5, 105301},
    {CollectiveKind::ScatterGradients, "", 2, collective_6, 105301},
    {CollectiveKind::ScatterGradients, "", 2, collective_7, 120149},
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_8, 0, 0, 36864},
    {CollectiveKind::GradientNorm, "", 8, collective_9, 0},
};
// By rank: the pool where its collectives receive what they add.
constexpr int32_t staging[] = {36, 37, 38, 39};
constexpr int32_t rank_of_replica[] = {0, 1, 2, 3, 0, 1, 2, 3};
constexpr int64_t peak_memory_bytes[] = {14638464, 14638464, 14655680,
    14655680};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {3423744, 3779482, 3186893, 6966374, 0, 127420,
    0, 127420, 0, 3423744, 3779482, 3186893, 6966374, 0, 127420, 0, 127420, 0,
    3422822, 3779482, 3185050, 6964531, 0, 105301, 0, 105301, 0, 3422822,
    3779482, 3185050, 6964531, 0, 105301, 0, 105301, 0, 3422822, 3779482,
    3185050, 6964531, 0, 105301, 0, 105301, 0, 3422822, 3779482, 3185050,
    6964531, 0, 105301, 0, 105301, 0, 3894681, 4251341, 3656909, 7908249, 0,
    120149, 0, 120149, 0, 3894681, 4251341, 3656909, 7908249, 0, 120149, 0,
    120149, 0};
constexpr RankDesc ranks[] = {
    {rank_0, nullptr},
    {rank_1, nullptr},
    {rank_2, nullptr},
    {rank_3, nullptr},
};

} // namespace pipeline


namespace evaluation {

// A row for each rank: replica
constexpr int64_t evaluation_ranks_0_to_1_row_0[] = {0};
constexpr int64_t evaluation_ranks_0_to_1_row_1[] = {1};
static void evaluation_ranks_0_to_1(Rank & v1, const int64_t* v2) {
  Rank &rank = v1;
  const int64_t replica = v2[0];
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    unshard(rank, replica, i3);
    await(rank, 0, i3);
    forward(rank, replica, i3);
    send(rank, Message::Activation, replica, i3);
    reshard(rank, replica, i3);
    unshard(rank, replica + 4, i3);
    recv(rank, Message::Activation, replica + 2, i3);
    await(rank, 2, i3);
    forward(rank, replica + 4, i3);
    send(rank, Message::Activation, replica + 4, i3);
    reshard(rank, replica + 4, i3);
  }
  return;
}
// A row for each rank: replica
constexpr int64_t evaluation_ranks_2_to_3_row_2[] = {2};
constexpr int64_t evaluation_ranks_2_to_3_row_3[] = {3};
static void evaluation_ranks_2_to_3(Rank & v1, const int64_t* v2) {
  Rank &rank = v1;
  const int64_t replica = v2[0];
  unshard(rank, replica, 0);
  recv(rank, Message::Activation, replica - 2, 0);
  for (int64_t i3 = 0; i3 < 7; i3 += 1) {
    await(rank, 1, i3);
    forward(rank, replica, i3);
    send(rank, Message::Activation, replica, i3);
    reshard(rank, replica, i3);
    unshard(rank, replica + 4, i3);
    recv(rank, Message::Activation, replica + 2, i3);
    recv(rank, Message::Activation, replica - 2, i3 + 1);
    await(rank, 3, i3);
    forward(rank, replica + 4, i3);
    reshard(rank, replica + 4, i3);
    unshard(rank, replica, i3 + 1);
  }
  await(rank, 1, 7);
  forward(rank, replica, 7);
  send(rank, Message::Activation, replica, 7);
  reshard(rank, replica, 7);
  unshard(rank, replica + 4, 7);
  recv(rank, Message::Activation, replica + 2, 7);
  await(rank, 3, 7);
  forward(rank, replica + 4, 7);
  reshard(rank, replica + 4, 7);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {2};
constexpr uint16_t slots_1[] = {1};
constexpr uint16_t slots_2[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 612096, 1},
    {0, 612096, 612096, 1},
    {0, 1224192, 1224192, 1},
    {0, 2448384, 320, 1},
    {0, 2448704, 1024, 8},
    {1, 0, 612096, 1},
    {1, 612096, 612096, 1},
    {1, 1224192, 1224192, 1},
    {1, 2448384, 320, 1},
    {1, 2448704, 1024, 8},
    {2, 0, 501504, 1},
    {2, 501504, 501504, 1},
    {2, 1003008, 1003008, 1},
    {2, 2006016, 192, 1},
    {3, 0, 501504, 1},
    {3, 501504, 501504, 1},
    {3, 1003008, 1003008, 1},
    {3, 2006016, 192, 1},
    {0, 2456896, 501504, 1},
    {0, 2958400, 501504, 1},
    {0, 3459904, 1003008, 1},
    {0, 4462912, 192, 1},
    {1, 2456896, 501504, 1},
    {1, 2958400, 501504, 1},
    {1, 3459904, 1003008, 1},
    {1, 4462912, 192, 1},
    {2, 2006208, 575744, 1},
    {2, 2581952, 575744, 1},
    {2, 3157696, 1151488, 1},
    {2, 4309184, 384, 1},
    {2, 4309568, 1024, 8},
    {3, 2006208, 575744, 1},
    {3, 2581952, 575744, 1},
    {3, 3157696, 1151488, 1},
    {3, 4309184, 384, 1},
    {3, 4309568, 1024, 8},
    {0, 4463104, 9957568, 1},
    {1, 4463104, 9957568, 1},
    {2, 4317760, 9957568, 1},
    {3, 4317760, 9957568, 1},
    {0, 14420672, 6144, 1},
    {0, 14426816, 73728, 2},
    {0, 14574272, 1183104, 1},
    {0, 15757376, 1257856, 1},
    {0, 17015232, 1504448, 1},
    {0, 18519680, 1836224, 1},
    {1, 14420672, 6144, 1},
    {1, 14426816, 73728, 2},
    {1, 14574272, 1183104, 1},
    {1, 15757376, 1257856, 1},
    {1, 17015232, 1504448, 1},
    {1, 18519680, 1836224, 1},
    {2, 14275328, 6144, 1},
    {2, 14281472, 7168, 1},
    {2, 14288640, 73728, 3},
    {2, 14509824, 1183104, 1},
    {2, 15692928, 1389056, 1},
    {2, 17081984, 1504448, 1},
    {2, 18586432, 1727232, 1},
    {3, 14275328, 6144, 1},
    {3, 14281472, 7168, 1},
    {3, 14288640, 73728, 3},
    {3, 14509824, 1183104, 1},
    {3, 15692928, 1389056, 1},
    {3, 17081984, 1504448, 1},
    {3, 18586432, 1727232, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_2}, // replica 0 weights
    {1, 1, slots_2}, // replica 0 gradients
    {2, 1, slots_2}, // replica 0 moments
    {}, {3, 1, slots_2}, // replica 0 control
    {4, 8, slots_2}, // replica 0 data
    {36, 1, slots_2}, // replica 0 workspace
    {}, {41, 1, slots_2}, // replica 0 output
    {}, {}, {40, 1, slots_2}, // replica 0 saved_for_input_grad
    {43, 1, slots_2}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {45, 1, slots_2}, // replica 0 gathered_weights
    {}, {5, 1, slots_2}, // replica 1 weights
    {6, 1, slots_2}, // replica 1 gradients
    {7, 1, slots_2}, // replica 1 moments
    {}, {8, 1, slots_2}, // replica 1 control
    {9, 8, slots_2}, // replica 1 data
    {37, 1, slots_2}, // replica 1 workspace
    {}, {47, 1, slots_2}, // replica 1 output
    {}, {}, {46, 1, slots_2}, // replica 1 saved_for_input_grad
    {49, 1, slots_2}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {51, 1, slots_2}, // replica 1 gathered_weights
    {}, {10, 1, slots_2}, // replica 2 weights
    {11, 1, slots_2}, // replica 2 gradients
    {12, 1, slots_2}, // replica 2 moments
    {}, {13, 1, slots_2}, // replica 2 control
    {}, {38, 1, slots_2}, // replica 2 workspace
    {54, 1, slots_2}, // replica 2 input
    {54, 1, slots_1}, // replica 2 output
    {}, {}, {52, 1, slots_2}, // replica 2 saved_for_input_grad
    {55, 1, slots_2}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {57, 1, slots_2}, // replica 2 gathered_weights
    {}, {14, 1, slots_2}, // replica 3 weights
    {15, 1, slots_2}, // replica 3 gradients
    {16, 1, slots_2}, // replica 3 moments
    {}, {17, 1, slots_2}, // replica 3 control
    {}, {39, 1, slots_2}, // replica 3 workspace
    {61, 1, slots_2}, // replica 3 input
    {61, 1, slots_1}, // replica 3 output
    {}, {}, {59, 1, slots_2}, // replica 3 saved_for_input_grad
    {62, 1, slots_2}, // replica 3 saved_for_weight_grad
    {}, {}, {}, {}, {}, {64, 1, slots_2}, // replica 3 gathered_weights
    {}, {18, 1, slots_2}, // replica 4 weights
    {19, 1, slots_2}, // replica 4 gradients
    {20, 1, slots_2}, // replica 4 moments
    {}, {21, 1, slots_2}, // replica 4 control
    {}, {36, 1, slots_2}, // replica 4 workspace
    {41, 1, slots_1}, // replica 4 input
    {41, 1, slots_2}, // replica 4 output
    {}, {}, {40, 1, slots_2}, // replica 4 saved_for_input_grad
    {42, 1, slots_2}, // replica 4 saved_for_weight_grad
    {}, {}, {}, {}, {}, {44, 1, slots_2}, // replica 4 gathered_weights
    {}, {22, 1, slots_2}, // replica 5 weights
    {23, 1, slots_2}, // replica 5 gradients
    {24, 1, slots_2}, // replica 5 moments
    {}, {25, 1, slots_2}, // replica 5 control
    {}, {37, 1, slots_2}, // replica 5 workspace
    {47, 1, slots_1}, // replica 5 input
    {47, 1, slots_2}, // replica 5 output
    {}, {}, {46, 1, slots_2}, // replica 5 saved_for_input_grad
    {48, 1, slots_2}, // replica 5 saved_for_weight_grad
    {}, {}, {}, {}, {}, {50, 1, slots_2}, // replica 5 gathered_weights
    {}, {26, 1, slots_2}, // replica 6 weights
    {27, 1, slots_2}, // replica 6 gradients
    {28, 1, slots_2}, // replica 6 moments
    {}, {29, 1, slots_2}, // replica 6 control
    {30, 8, slots_2}, // replica 6 data
    {38, 1, slots_2}, // replica 6 workspace
    {54, 1, slots_0}, // replica 6 input
    {}, {}, {}, {53, 1, slots_2}, // replica 6 saved_for_input_grad
    {56, 1, slots_2}, // replica 6 saved_for_weight_grad
    {}, {}, {}, {}, {}, {58, 1, slots_2}, // replica 6 gathered_weights
    {}, {31, 1, slots_2}, // replica 7 weights
    {32, 1, slots_2}, // replica 7 gradients
    {33, 1, slots_2}, // replica 7 moments
    {}, {34, 1, slots_2}, // replica 7 control
    {35, 8, slots_2}, // replica 7 data
    {39, 1, slots_2}, // replica 7 workspace
    {61, 1, slots_0}, // replica 7 input
    {}, {}, {}, {60, 1, slots_2}, // replica 7 saved_for_input_grad
    {63, 1, slots_2}, // replica 7 saved_for_weight_grad
    {}, {}, {}, {}, {}, {65, 1, slots_2}, // replica 7 gathered_weights
    {}, 
};
constexpr int32_t collective_0[] = {0, 1};
constexpr int32_t collective_1[] = {2, 3};
constexpr int32_t collective_2[] = {4, 5};
constexpr int32_t collective_3[] = {6, 7};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::GatherWeights, "", 2, collective_0, 127420},
    {CollectiveKind::GatherWeights, "", 2, collective_1, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_2, 105301},
    {CollectiveKind::GatherWeights, "", 2, collective_3, 120149},
};
constexpr int32_t rank_of_replica[] = {0, 1, 2, 3, 0, 1, 2, 3};
constexpr RankDesc ranks[] = {
    {evaluation_ranks_0_to_1, evaluation_ranks_0_to_1_row_0},
    {evaluation_ranks_0_to_1, evaluation_ranks_0_to_1_row_1},
    {evaluation_ranks_2_to_3, evaluation_ranks_2_to_3_row_2},
    {evaluation_ranks_2_to_3, evaluation_ranks_2_to_3_row_3},
};

} // namespace evaluation

} // namespace

// number, name, kind; micro-batches, samples of each, whether they
// are added in index order; layers, shares, edges; ranks;
// replicas' ranks; pools; places; collectives; predicted ns of an iteration, of
// all ranks' work; peak bytes by rank; where collectives receive; work
constexpr ProgramDesc programs[] = {
    {0, "sequential", ProgramKind::Sequential, 8, 4, true,
     layers, shares, edges, 1, sequential::ranks, sequential::rank_of_replica,
     74, sequential::pools, 160, sequential::places, 10, sequential::collectives,
     0, 0, nullptr, nullptr, nullptr},
    {1, "units", ProgramKind::Pipeline, 8, 4, true,
     layers, shares, edges, 4, pipeline::ranks, pipeline::rank_of_replica,
     78, pipeline::pools, 160, pipeline::places, 10, pipeline::collectives,
     181201257, 687484128, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 4, true,
     layers, shares, edges, 4, evaluation::ranks, evaluation::rank_of_replica,
     66, evaluation::pools, 160, evaluation::places, 4, evaluation::collectives,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {35813696, 35813696, 35658688, 35658688};
// from, to, latency in ns, bytes per us
constexpr LinkDesc links[] = {
    {0, 2, 5000, 5000},
    {1, 3, 5000, 5000},
    {2, 0, 5000, 5000},
    {3, 1, 5000, 5000},
};
constexpr Executable executable = {"units", 6, layers, 4, stages, 8, replicas, 12, edges, 4, arena_bytes, 3, programs,
    &cudaBackend, 4, links, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


