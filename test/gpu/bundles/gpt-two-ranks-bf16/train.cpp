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
    {0, 4, 0, 1,
     {3340288, 2226816, 4453632, 0, 448, 2048, 20062400, 0, 147456, 147456, 0, 24576, 4875008, 0, 0, 0, 0, 0, 0, 0}},
    {0, 4, 0, 1,
     {3231424, 2154240, 4308480, 0, 512, 2048, 20062400, 147456, 0, 0, 147456, 26624, 5136256, 0, 0, 0, 0, 0, 0, 0}},
};

// from, to, message, bytes, place that it leaves and enters, where in each
constexpr EdgeDesc edges[] = {
    {0, 1, Message::Activation, 147456, 8, 27, 0, 0},
    {1, 0, Message::Gradient, 147456, 30, 9, 0, 0},
};

// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 3},
    {"s1", 3, 3},
};

// stage, replica, rank
constexpr ReplicaDesc replicas[] = {
    {0, 0, 0},
    {1, 0, 1},
};


namespace sequential {

static void sequential_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    forward(rank, 1, i3);
    backward(rank, 1, i3);
    backward(rank, 0, i3);
  }
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 0);
  step(rank, 1);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 3340288, 1},
    {0, 3340288, 2226816, 1},
    {0, 5567104, 4453632, 1},
    {0, 10020736, 448, 1},
    {0, 10021184, 2048, 8},
    {1, 0, 3231424, 1},
    {1, 3231424, 2154240, 1},
    {1, 5385664, 4308480, 1},
    {1, 9694144, 512, 1},
    {1, 9694656, 2048, 8},
    {0, 10037568, 20062400, 1},
    {1, 9711040, 20062400, 1},
    {0, 30099968, 24576, 1},
    {0, 30124544, 147456, 1},
    {0, 30272000, 4875008, 1},
    {1, 29773440, 26624, 1},
    {1, 29800064, 147456, 1},
    {1, 29947520, 5136256, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {10, 1, slots_0}, // replica 0 workspace
    {}, {13, 1, slots_0}, // replica 0 output
    {16, 1, slots_0}, // replica 0 output_grad
    {}, {12, 1, slots_0}, // replica 0 saved_for_input_grad
    {14, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_0}, // replica 1 weights
    {6, 1, slots_0}, // replica 1 gradients
    {7, 1, slots_0}, // replica 1 moments
    {}, {8, 1, slots_0}, // replica 1 control
    {9, 8, slots_0}, // replica 1 data
    {11, 1, slots_0}, // replica 1 workspace
    {13, 1, slots_0}, // replica 1 input
    {}, {}, {16, 1, slots_0}, // replica 1 input_grad
    {15, 1, slots_0}, // replica 1 saved_for_input_grad
    {17, 1, slots_0}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0, 1};
constexpr int32_t collective_1[] = {0, 1};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_0, 0},
    {CollectiveKind::GradientNorm, "", 2, collective_1, 0},
};
constexpr int32_t rank_of_replica[] = {0, 0};
constexpr RankDesc ranks[] = {
    {sequential_rank_0, nullptr},
};

} // namespace sequential


namespace pipeline {

static void rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  forward(rank, 0, 0);
  send(rank, Message::Activation, 0, 0);
  for (int64_t i3 = 1; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    send(rank, Message::Activation, 0, i3);
    recv(rank, Message::Gradient, 1, i3 - 1);
    backward(rank, 0, i3 - 1);
  }
  recv(rank, Message::Gradient, 1, 7);
  backward(rank, 0, 7);
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 0);
  return;
}
static void rank_1(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  recv(rank, Message::Activation, 0, 0);
  recv(rank, Message::Activation, 0, 1);
  forward(rank, 1, 0);
  for (int64_t i3 = 0; i3 < 6; i3 += 1) {
    backward(rank, 1, i3);
    send(rank, Message::Gradient, 1, i3);
    forward(rank, 1, i3 + 1);
    recv(rank, Message::Activation, 0, i3 + 2);
  }
  backward(rank, 1, 6);
  send(rank, Message::Gradient, 1, 6);
  forward(rank, 1, 7);
  backward(rank, 1, 7);
  send(rank, Message::Gradient, 1, 7);
  all_reduce(rank, 0);
  await(rank, 0);
  all_reduce(rank, 1);
  await(rank, 1);
  step(rank, 1);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 3340288, 1},
    {0, 3340288, 2226816, 1},
    {0, 5567104, 4453632, 1},
    {0, 10020736, 448, 1},
    {0, 10021184, 2048, 8},
    {1, 0, 3231424, 1},
    {1, 3231424, 2154240, 1},
    {1, 5385664, 4308480, 1},
    {1, 9694144, 512, 1},
    {1, 9694656, 2048, 8},
    {0, 10037568, 73728, 1},
    {1, 9711040, 73728, 1},
    {0, 10111296, 20062400, 1},
    {1, 9784768, 20062400, 1},
    {0, 30173696, 24576, 2},
    {0, 30222848, 147456, 2},
    {0, 30517760, 4875008, 2},
    {1, 29847168, 26624, 1},
    {1, 29873792, 147456, 2},
    {1, 30168704, 5136256, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {12, 1, slots_0}, // replica 0 workspace
    {}, {15, 2, slots_0}, // replica 0 output
    {15, 2, slots_0}, // replica 0 output_grad
    {}, {14, 2, slots_0}, // replica 0 saved_for_input_grad
    {16, 2, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_0}, // replica 1 weights
    {6, 1, slots_0}, // replica 1 gradients
    {7, 1, slots_0}, // replica 1 moments
    {}, {8, 1, slots_0}, // replica 1 control
    {9, 8, slots_0}, // replica 1 data
    {13, 1, slots_0}, // replica 1 workspace
    {18, 2, slots_0}, // replica 1 input
    {}, {}, {18, 2, slots_0}, // replica 1 input_grad
    {17, 1, slots_0}, // replica 1 saved_for_input_grad
    {19, 1, slots_0}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0, 1};
constexpr int32_t collective_1[] = {0, 1};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::TiedGradients, "wte.weight", 2, collective_0, 0},
    {CollectiveKind::GradientNorm, "", 2, collective_1, 0},
};
// By rank: the pool where its collectives receive what they add.
constexpr int32_t staging[] = {10, 11};
constexpr int32_t rank_of_replica[] = {0, 1};
constexpr int64_t peak_memory_bytes[] = {9799168, 5162880};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {2190, 2418, 2038, 4456, 0, 0, 0, 0, 0, 2340,
    2568, 2188, 4756, 0, 0, 0, 0, 0};
constexpr RankDesc ranks[] = {
    {rank_0, nullptr},
    {rank_1, nullptr},
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
static void evaluation_rank_1(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  recv(rank, Message::Activation, 0, 0);
  for (int64_t i3 = 1; i3 < 8; i3 += 1) {
    recv(rank, Message::Activation, 0, i3);
    forward(rank, 1, i3 - 1);
  }
  forward(rank, 1, 7);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 3340288, 1},
    {0, 3340288, 2226816, 1},
    {0, 5567104, 4453632, 1},
    {0, 10020736, 448, 1},
    {0, 10021184, 2048, 8},
    {1, 0, 3231424, 1},
    {1, 3231424, 2154240, 1},
    {1, 5385664, 4308480, 1},
    {1, 9694144, 512, 1},
    {1, 9694656, 2048, 8},
    {0, 10037568, 20062400, 1},
    {1, 9711040, 20062400, 1},
    {0, 30099968, 24576, 1},
    {0, 30124544, 147456, 2},
    {0, 30419456, 4875008, 1},
    {1, 29773440, 26624, 1},
    {1, 29800064, 147456, 2},
    {1, 30094976, 5136256, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {10, 1, slots_0}, // replica 0 workspace
    {}, {13, 2, slots_0}, // replica 0 output
    {}, {}, {12, 1, slots_0}, // replica 0 saved_for_input_grad
    {14, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, {5, 1, slots_0}, // replica 1 weights
    {6, 1, slots_0}, // replica 1 gradients
    {7, 1, slots_0}, // replica 1 moments
    {}, {8, 1, slots_0}, // replica 1 control
    {9, 8, slots_0}, // replica 1 data
    {11, 1, slots_0}, // replica 1 workspace
    {16, 2, slots_0}, // replica 1 input
    {}, {}, {}, {15, 1, slots_0}, // replica 1 saved_for_input_grad
    {17, 1, slots_0}, // replica 1 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t rank_of_replica[] = {0, 1};
constexpr RankDesc ranks[] = {
    {evaluation_rank_0, nullptr},
    {evaluation_rank_1, nullptr},
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
     18, sequential::pools, 40, sequential::places, 2, sequential::collectives,
     0, 0, nullptr, nullptr, nullptr},
    {1, "one_f_one_b", ProgramKind::Pipeline, 8, 4, true,
     layers, shares, edges, 2, pipeline::ranks, pipeline::rank_of_replica,
     20, pipeline::pools, 40, pipeline::places, 2, pipeline::collectives,
     63414, 109936, pipeline::peak_memory_bytes, pipeline::staging, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 4, true,
     layers, shares, edges, 2, evaluation::ranks, evaluation::rank_of_replica,
     18, evaluation::pools, 40, evaluation::places, 0, nullptr,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {40267776, 35304960};
// from, to, latency in ns, bytes per us
constexpr LinkDesc links[] = {
    {0, 1, 0, 0},
    {1, 0, 0, 0},
};
constexpr Executable executable = {"one_f_one_b", 6, layers, 2, stages, 2, replicas, 2, edges, 2, arena_bytes, 3, programs,
    &cudaBackend, 2, links, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


