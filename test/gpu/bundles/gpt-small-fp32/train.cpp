// Schedule @one_f_one_b of plan @step, written by rondo.

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
     Target::Cuda, DType::Fp32},
    {"h0", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {294912}, 0, 0,
     Target::Cuda, DType::Fp32},
    {"h1", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {294912}, 0, 0,
     Target::Cuda, DType::Fp32},
    {"h2", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {294912}, 0, 0,
     Target::Cuda, DType::Fp32},
    {"h3", LayerKind::GptBlock, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {294912}, 0, 0,
     Target::Cuda, DType::Fp32},
    {"ln_f", LayerKind::GptHead, 256, 128, 144, 4, 576, 4, true,
     false, 0, 0, 0, 0, 0, 1, {294912}, 0, 0,
     Target::Cuda, DType::Fp32},
};

// By replica: first sample, samples; turn, of how many; then bytes of:
// weights gradients moments weight_changes control data workspace input output output_grad input_grad saved_for_input_grad saved_for_weight_grad checkpoints recomputed_for_input_grad recomputed_for_weight_grad recomputed_input recomputed_output gathered_weights unreduced_gradients
constexpr ShareDesc shares[] = {
    {0, 4, 0, 1,
     {1224000, 1224000, 2448000, 0, 320, 2048, 20799680, 0, 294912, 294912, 0, 12288, 5019008, 0, 0, 0, 0, 0, 0, 0}},
    {0, 4, 0, 1,
     {1002816, 1002816, 2005632, 0, 192, 0, 20504768, 294912, 294912, 294912, 294912, 12288, 4722048, 0, 0, 0, 0, 0, 0, 0}},
    {0, 4, 0, 1,
     {1002816, 1002816, 2005632, 0, 192, 0, 20504768, 294912, 294912, 294912, 294912, 12288, 4722048, 0, 0, 0, 0, 0, 0, 0}},
    {0, 4, 0, 1,
     {1151424, 1151424, 2302848, 0, 384, 2048, 20799680, 294912, 0, 0, 294912, 14336, 5542400, 0, 0, 0, 0, 0, 0, 0}},
};

// from, to, message, bytes, place that it leaves and enters, where in each
constexpr EdgeDesc edges[] = {
    {0, 1, Message::Activation, 294912, 8, 27, 0, 0},
    {1, 2, Message::Activation, 294912, 28, 47, 0, 0},
    {2, 3, Message::Activation, 294912, 48, 67, 0, 0},
    {1, 0, Message::Gradient, 294912, 30, 9, 0, 0},
    {2, 1, Message::Gradient, 294912, 50, 29, 0, 0},
    {3, 2, Message::Gradient, 294912, 70, 49, 0, 0},
};

// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 2},
    {"s1", 2, 1},
    {"s2", 3, 1},
    {"s3", 4, 2},
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
    {0, 0, 1224000, 1},
    {0, 1224000, 1224000, 1},
    {0, 2448000, 2448000, 1},
    {0, 4896000, 320, 1},
    {0, 4896320, 2048, 8},
    {1, 0, 1002816, 1},
    {1, 1002816, 1002816, 1},
    {1, 2005632, 2005632, 1},
    {1, 4011264, 192, 1},
    {2, 0, 1002816, 1},
    {2, 1002816, 1002816, 1},
    {2, 2005632, 2005632, 1},
    {2, 4011264, 192, 1},
    {3, 0, 1151424, 1},
    {3, 1151424, 1151424, 1},
    {3, 2302848, 2302848, 1},
    {3, 4605696, 384, 1},
    {3, 4606080, 2048, 8},
    {0, 4912704, 20799680, 1},
    {1, 4011456, 20504768, 1},
    {2, 4011456, 20504768, 1},
    {3, 4622464, 20799680, 1},
    {0, 25712384, 12288, 1},
    {0, 25724672, 294912, 1},
    {0, 26019584, 5019008, 1},
    {1, 24516224, 12288, 1},
    {1, 24528512, 294912, 1},
    {1, 24823424, 4722048, 1},
    {2, 24516224, 12288, 1},
    {2, 24528512, 294912, 1},
    {2, 24823424, 4722048, 1},
    {3, 25422144, 14336, 1},
    {3, 25436480, 294912, 1},
    {3, 25731392, 5542400, 1},
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
// A row for each rank: replica, end, end2
constexpr int64_t ranks_1_to_2_row_1[] = {1, 4, 4};
constexpr int64_t ranks_1_to_2_row_2[] = {2, 3, 5};
static void ranks_1_to_2(Rank & v1, const int64_t* v2) {
  Rank &rank = v1;
  const int64_t replica = v2[0];
  const int64_t end = v2[1];
  const int64_t end2 = v2[2];
  recv(rank, Message::Activation, replica - 1, 0);
  for (int64_t i3 = 1; i3 < end; i3 += 1) {
    recv(rank, Message::Activation, replica - 1, i3);
    forward(rank, replica, i3 - 1);
    send(rank, Message::Activation, replica, i3 - 1);
  }
  for (int64_t i4 = 0; i4 < end2; i4 += 1) {
    recv(rank, Message::Gradient, replica + 1, i4);
    backward(rank, replica, i4);
    send(rank, Message::Gradient, replica, i4);
    forward(rank, replica, i4 + end - 1);
    send(rank, Message::Activation, replica, i4 + end - 1);
    recv(rank, Message::Activation, replica - 1, i4 + end);
  }
  recv(rank, Message::Gradient, replica + 1, end2);
  backward(rank, replica, end2);
  send(rank, Message::Gradient, replica, end2);
  forward(rank, replica, 7);
  send(rank, Message::Activation, replica, 7);
  for (int64_t i5 = end2 + 1; i5 < 8; i5 += 1) {
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
constexpr uint16_t slots_0[] = {3};
constexpr uint16_t slots_1[] = {2, 3, 2, 2, 2, 2, 2};
constexpr uint16_t slots_2[] = {1, 0};
constexpr uint16_t slots_3[] = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr SlotPartDesc later_0[] = {{1, 1, slots_0}};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 1224000, 1},
    {0, 1224000, 1224000, 1},
    {0, 2448000, 2448000, 1},
    {0, 4896000, 320, 1},
    {0, 4896320, 2048, 8},
    {1, 0, 1002816, 1},
    {1, 1002816, 1002816, 1},
    {1, 2005632, 2005632, 1},
    {1, 4011264, 192, 1},
    {2, 0, 1002816, 1},
    {2, 1002816, 1002816, 1},
    {2, 2005632, 2005632, 1},
    {2, 4011264, 192, 1},
    {3, 0, 1151424, 1},
    {3, 1151424, 1151424, 1},
    {3, 2302848, 2302848, 1},
    {3, 4605696, 384, 1},
    {3, 4606080, 2048, 8},
    {0, 4912704, 73728, 1},
    {1, 4011456, 1280, 1},
    {2, 4011456, 1280, 1},
    {3, 4622464, 73728, 1},
    {0, 4986432, 20799680, 1},
    {1, 4012736, 20504768, 1},
    {2, 4012736, 20504768, 1},
    {3, 4696192, 20799680, 1},
    {0, 25786112, 12288, 4},
    {0, 25835264, 294912, 2},
    {0, 26425088, 5019008, 4},
    {1, 24517504, 12288, 3},
    {1, 24554368, 294912, 4},
    {1, 25734016, 4722048, 3},
    {2, 24517504, 12288, 2},
    {2, 24542080, 294912, 4},
    {2, 25721728, 4722048, 2},
    {3, 25495872, 14336, 1},
    {3, 25510208, 294912, 2},
    {3, 26100032, 5542400, 1},
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
    {30, 2, slots_3}, // replica 1 input
    {30, 7, slots_1}, // replica 1 output
    {30, 2, slots_3}, // replica 1 output_grad
    {30, 1, slots_0}, // replica 1 input_grad
    {29, 3, slots_3}, // replica 1 saved_for_input_grad
    {31, 3, slots_3}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_3}, // replica 2 weights
    {10, 1, slots_3}, // replica 2 gradients
    {11, 1, slots_3}, // replica 2 moments
    {}, {12, 1, slots_3}, // replica 2 control
    {}, {24, 1, slots_3}, // replica 2 workspace
    {33, 2, slots_3}, // replica 2 input
    {33, 1, slots_1, 1, later_0}, // replica 2 output
    {33, 2, slots_2}, // replica 2 output_grad
    {33, 1, slots_1}, // replica 2 input_grad
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
constexpr int64_t peak_memory_bytes[] = {20125184, 14203008, 9468672, 5556736};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {6847487, 7558963, 6373785, 13932748, 0, 0, 0,
    0, 0, 6845644, 7558963, 6370099, 13929062, 0, 0, 0, 0, 0, 6845644,
    7558963, 6370099, 13929062, 0, 0, 0, 0, 0, 7789362, 8502681, 7313817,
    15816498, 0, 0, 0, 0, 0};
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
  recv(rank, Message::Activation, replica - 1, 0);
  for (int64_t i3 = 1; i3 < 8; i3 += 1) {
    recv(rank, Message::Activation, replica - 1, i3);
    forward(rank, replica, i3 - 1);
    send(rank, Message::Activation, replica, i3 - 1);
  }
  forward(rank, replica, 7);
  send(rank, Message::Activation, replica, 7);
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
constexpr uint16_t slots_0[] = {2, 3};
constexpr uint16_t slots_1[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 1224000, 1},
    {0, 1224000, 1224000, 1},
    {0, 2448000, 2448000, 1},
    {0, 4896000, 320, 1},
    {0, 4896320, 2048, 8},
    {1, 0, 1002816, 1},
    {1, 1002816, 1002816, 1},
    {1, 2005632, 2005632, 1},
    {1, 4011264, 192, 1},
    {2, 0, 1002816, 1},
    {2, 1002816, 1002816, 1},
    {2, 2005632, 2005632, 1},
    {2, 4011264, 192, 1},
    {3, 0, 1151424, 1},
    {3, 1151424, 1151424, 1},
    {3, 2302848, 2302848, 1},
    {3, 4605696, 384, 1},
    {3, 4606080, 2048, 8},
    {0, 4912704, 20799680, 1},
    {1, 4011456, 20504768, 1},
    {2, 4011456, 20504768, 1},
    {3, 4622464, 20799680, 1},
    {0, 25712384, 12288, 1},
    {0, 25724672, 294912, 2},
    {0, 26314496, 5019008, 1},
    {1, 24516224, 12288, 1},
    {1, 24528512, 294912, 4},
    {1, 25708160, 4722048, 1},
    {2, 24516224, 12288, 1},
    {2, 24528512, 294912, 4},
    {2, 25708160, 4722048, 1},
    {3, 25422144, 14336, 1},
    {3, 25436480, 294912, 2},
    {3, 26026304, 5542400, 1},
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
    {26, 2, slots_1}, // replica 1 input
    {26, 2, slots_0}, // replica 1 output
    {}, {}, {25, 1, slots_1}, // replica 1 saved_for_input_grad
    {27, 1, slots_1}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {9, 1, slots_1}, // replica 2 weights
    {10, 1, slots_1}, // replica 2 gradients
    {11, 1, slots_1}, // replica 2 moments
    {}, {12, 1, slots_1}, // replica 2 control
    {}, {20, 1, slots_1}, // replica 2 workspace
    {29, 2, slots_1}, // replica 2 input
    {29, 2, slots_0}, // replica 2 output
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
    {0, "sequential", ProgramKind::Sequential, 8, 4, true,
     layers, shares, edges, 1, sequential::ranks, sequential::rank_of_replica,
     34, sequential::pools, 80, sequential::places, 2, sequential::collectives,
     0, 0, nullptr, nullptr, nullptr},
    {1, "one_f_one_b", ProgramKind::Pipeline, 8, 4, true,
     layers, shares, edges, 4, pipeline::ranks, pipeline::rank_of_replica,
     38, pipeline::pools, 80, pipeline::places, 2, pipeline::collectives,
     251560425, 687484056, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 4, true,
     layers, shares, edges, 4, evaluation::ranks, evaluation::rank_of_replica,
     34, evaluation::pools, 80, evaluation::places, 0, nullptr,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {46501120, 39900160, 35165824, 31642432};
// from, to, latency in ns, bytes per us
constexpr LinkDesc links[] = {
    {0, 1, 5000, 5000},
    {1, 0, 5000, 5000},
    {1, 2, 5000, 5000},
    {2, 1, 5000, 5000},
    {2, 3, 5000, 5000},
    {3, 2, 5000, 5000},
};
constexpr Executable executable = {"one_f_one_b", 6, layers, 4, stages, 4, replicas, 6, edges, 4, arena_bytes, 3, programs,
    &cudaBackend, 6, links, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


