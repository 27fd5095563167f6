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
    {"wte", LayerKind::GptEmbedding, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 0, {}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h0", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h1", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h2", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h3", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h4", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h5", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h6", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h7", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h8", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h9", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h10", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"h11", LayerKind::GptBlock, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
    {"ln_f", LayerKind::GptHead, 50257, 1024, 768, 12, 3072, 8, true,
     false, 0, 0, 0, 0, 0, 1, {12582912}, 0, 0,
     Target::Cuda, DType::Bf16},
};

// By replica: first sample, samples; turn, of how many; then bytes of:
// weights gradients moments weight_changes control data workspace input output output_grad input_grad saved_for_input_grad saved_for_weight_grad checkpoints recomputed_for_input_grad recomputed_for_weight_grad recomputed_input recomputed_output gathered_weights unreduced_gradients
constexpr ShareDesc shares[] = {
    {0, 8, 0, 1,
     {363884544, 242589696, 485179392, 0, 576, 32768, 128319680, 0, 12582912, 12582912, 0, 1376256, 616650752, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {127581696, 85054464, 170108928, 0, 448, 0, 128319680, 12582912, 12582912, 12582912, 12582912, 1376256, 604035072, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {127581696, 85054464, 170108928, 0, 448, 0, 128319680, 12582912, 12582912, 12582912, 12582912, 1376256, 604035072, 0, 0, 0, 0, 0, 0, 0}},
    {0, 8, 0, 1,
     {359207424, 239471616, 478943232, 0, 640, 32768, 128319680, 12582912, 0, 0, 12582912, 1409024, 1440804864, 0, 0, 0, 0, 0, 0, 0}},
};

// from, to, message, bytes, place that it leaves and enters, where in each
constexpr EdgeDesc edges[] = {
    {0, 1, Message::Activation, 12582912, 8, 27, 0, 0},
    {1, 2, Message::Activation, 12582912, 28, 47, 0, 0},
    {2, 3, Message::Activation, 12582912, 48, 67, 0, 0},
    {1, 0, Message::Gradient, 12582912, 30, 9, 0, 0},
    {2, 1, Message::Gradient, 12582912, 50, 29, 0, 0},
    {3, 2, Message::Gradient, 12582912, 70, 49, 0, 0},
};

// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 4},
    {"s1", 4, 3},
    {"s2", 7, 3},
    {"s3", 10, 4},
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
    {0, 0, 363884544, 1},
    {0, 363884544, 242589696, 1},
    {0, 606474240, 485179392, 1},
    {0, 1091653632, 576, 1},
    {0, 1091654208, 32768, 8},
    {1, 0, 127581696, 1},
    {1, 127581696, 85054464, 1},
    {1, 212636160, 170108928, 1},
    {1, 382745088, 448, 1},
    {2, 0, 127581696, 1},
    {2, 127581696, 85054464, 1},
    {2, 212636160, 170108928, 1},
    {2, 382745088, 448, 1},
    {3, 0, 359207424, 1},
    {3, 359207424, 239471616, 1},
    {3, 598679040, 478943232, 1},
    {3, 1077622272, 640, 1},
    {3, 1077622912, 32768, 8},
    {0, 1091916352, 128319680, 1},
    {1, 382745536, 128319680, 1},
    {2, 382745536, 128319680, 1},
    {3, 1077885056, 128319680, 1},
    {0, 1220236032, 1376256, 1},
    {0, 1221612288, 12582912, 1},
    {0, 1234195200, 616650752, 1},
    {1, 511065216, 1376256, 1},
    {1, 512441472, 12582912, 1},
    {1, 525024384, 604035072, 1},
    {2, 511065216, 1376256, 1},
    {2, 512441472, 12582912, 1},
    {2, 525024384, 604035072, 1},
    {3, 1206204736, 1409024, 1},
    {3, 1207613760, 12582912, 1},
    {3, 1220196672, 1440804864, 1},
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
    {0, 0, 363884544, 1},
    {0, 363884544, 242589696, 1},
    {0, 606474240, 485179392, 1},
    {0, 1091653632, 576, 1},
    {0, 1091654208, 32768, 8},
    {1, 0, 127581696, 1},
    {1, 127581696, 85054464, 1},
    {1, 212636160, 170108928, 1},
    {1, 382745088, 448, 1},
    {2, 0, 127581696, 1},
    {2, 127581696, 85054464, 1},
    {2, 212636160, 170108928, 1},
    {2, 382745088, 448, 1},
    {3, 0, 359207424, 1},
    {3, 359207424, 239471616, 1},
    {3, 598679040, 478943232, 1},
    {3, 1077622272, 640, 1},
    {3, 1077622912, 32768, 8},
    {0, 1091916352, 4194304, 1},
    {1, 382745536, 2560, 1},
    {2, 382745536, 2560, 1},
    {3, 1077885056, 4194304, 1},
    {0, 1096110656, 128319680, 1},
    {1, 382748096, 128319680, 1},
    {2, 382748096, 128319680, 1},
    {3, 1082079360, 128319680, 1},
    {0, 1224430336, 1376256, 4},
    {0, 1229935360, 12582912, 2},
    {0, 1255101184, 616650752, 4},
    {1, 511067776, 1376256, 3},
    {1, 515196544, 12582912, 3},
    {1, 552945280, 604035072, 3},
    {2, 511067776, 1376256, 2},
    {2, 513820288, 12582912, 3},
    {2, 551569024, 604035072, 2},
    {3, 1210399040, 1409024, 1},
    {3, 1211808064, 12582912, 2},
    {3, 1236973888, 1440804864, 1},
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
constexpr int64_t peak_memory_bytes[] = {2472108032, 1816233984, 1210822656,
    1442213888};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {1546363, 1778493, 1391618, 3170111, 0, 0, 0, 0,
    0, 1546338, 1778493, 1391568, 3170061, 0, 0, 0, 0, 0, 1546338, 1778493,
    1391568, 3170061, 0, 0, 0, 0, 0, 4075855, 4308010, 3921085, 8229095, 0, 0,
    0, 0, 0};
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
constexpr uint16_t slots_0[] = {2, 1};
constexpr uint16_t slots_1[] = {1};
constexpr uint16_t slots_2[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr SlotPartDesc later_0[] = {{3, 2, slots_0}};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 363884544, 1},
    {0, 363884544, 242589696, 1},
    {0, 606474240, 485179392, 1},
    {0, 1091653632, 576, 1},
    {0, 1091654208, 32768, 8},
    {1, 0, 127581696, 1},
    {1, 127581696, 85054464, 1},
    {1, 212636160, 170108928, 1},
    {1, 382745088, 448, 1},
    {2, 0, 127581696, 1},
    {2, 127581696, 85054464, 1},
    {2, 212636160, 170108928, 1},
    {2, 382745088, 448, 1},
    {3, 0, 359207424, 1},
    {3, 359207424, 239471616, 1},
    {3, 598679040, 478943232, 1},
    {3, 1077622272, 640, 1},
    {3, 1077622912, 32768, 8},
    {0, 1091916352, 128319680, 1},
    {1, 382745536, 128319680, 1},
    {2, 382745536, 128319680, 1},
    {3, 1077885056, 128319680, 1},
    {0, 1220236032, 1376256, 1},
    {0, 1221612288, 12582912, 2},
    {0, 1246778112, 616650752, 1},
    {1, 511065216, 1376256, 1},
    {1, 512441472, 12582912, 2},
    {1, 537607296, 604035072, 1},
    {2, 511065216, 1376256, 1},
    {2, 512441472, 12582912, 3},
    {2, 550190208, 604035072, 1},
    {3, 1206204736, 1409024, 1},
    {3, 1207613760, 12582912, 2},
    {3, 1232779584, 1440804864, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_2}, // replica 0 weights
    {1, 1, slots_2}, // replica 0 gradients
    {2, 1, slots_2}, // replica 0 moments
    {}, {3, 1, slots_2}, // replica 0 control
    {4, 8, slots_2}, // replica 0 data
    {18, 1, slots_2}, // replica 0 workspace
    {}, {23, 2, slots_2}, // replica 0 output
    {}, {}, {22, 1, slots_2}, // replica 0 saved_for_input_grad
    {24, 1, slots_2}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_2}, // replica 1 weights
    {6, 1, slots_2}, // replica 1 gradients
    {7, 1, slots_2}, // replica 1 moments
    {}, {8, 1, slots_2}, // replica 1 control
    {}, {19, 1, slots_2}, // replica 1 workspace
    {26, 1, slots_2}, // replica 1 input
    {26, 1, slots_1}, // replica 1 output
    {}, {}, {25, 1, slots_2}, // replica 1 saved_for_input_grad
    {27, 1, slots_2}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_2}, // replica 2 weights
    {10, 1, slots_2}, // replica 2 gradients
    {11, 1, slots_2}, // replica 2 moments
    {}, {12, 1, slots_2}, // replica 2 control
    {}, {20, 1, slots_2}, // replica 2 workspace
    {29, 1, slots_2}, // replica 2 input
    {29, 1, slots_1, 1, later_0}, // replica 2 output
    {}, {}, {28, 1, slots_2}, // replica 2 saved_for_input_grad
    {30, 1, slots_2}, // replica 2 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {13, 1, slots_2}, // replica 3 weights
    {14, 1, slots_2}, // replica 3 gradients
    {15, 1, slots_2}, // replica 3 moments
    {}, {16, 1, slots_2}, // replica 3 control
    {17, 8, slots_2}, // replica 3 data
    {21, 1, slots_2}, // replica 3 workspace
    {32, 2, slots_2}, // replica 3 input
    {}, {}, {}, {31, 1, slots_2}, // replica 3 saved_for_input_grad
    {33, 1, slots_2}, // replica 3 saved_for_weight_grad
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
     112588872, 211633776, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 8, true,
     layers, shares, edges, 4, evaluation::ranks, evaluation::rank_of_replica,
     34, evaluation::pools, 80, evaluation::places, 0, nullptr,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {3721704192, 2365050496, 1759639168,
    2677778752};
// from, to, latency in ns, bytes per us
constexpr LinkDesc links[] = {
    {0, 1, 0, 0},
    {1, 0, 0, 0},
    {1, 2, 0, 0},
    {2, 1, 0, 0},
    {2, 3, 0, 0},
    {3, 2, 0, 0},
};
constexpr Executable executable = {"four_stages", 14, layers, 4, stages, 4, replicas, 6, edges, 4, arena_bytes, 3, programs,
    &cudaBackend, 6, links, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


