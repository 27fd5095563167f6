// Schedule @one_stage of plan @step1, written by rondo.

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
     {978255360, 652170240, 995518464, 0, 1920, 65536, 128319680, 0, 0, 0, 0, 5537792, 3265525760, 0, 0, 0, 0, 0, 0, 0}},
};


// name, first layer, layers
constexpr StageDesc stages[] = {
    {"s0", 0, 14},
};

// stage, replica, rank
constexpr ReplicaDesc replicas[] = {
    {0, 0, 0},
};


namespace sequential {

static void sequential_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    backward(rank, 0, i3);
  }
  all_reduce(rank, 0);
  await(rank, 0);
  step(rank, 0);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 978255360, 1},
    {0, 978255360, 652170240, 1},
    {0, 1630425600, 995518464, 1},
    {0, 2625944064, 1920, 1},
    {0, 2625945984, 65536, 8},
    {0, 2626470272, 128319680, 1},
    {0, 2754789952, 5537792, 1},
    {0, 2760327744, 3265525760, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {5, 1, slots_0}, // replica 0 workspace
    {}, {}, {}, {}, {6, 1, slots_0}, // replica 0 saved_for_input_grad
    {7, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::GradientNorm, "", 1, collective_0, 0},
};
constexpr int32_t rank_of_replica[] = {0};
constexpr RankDesc ranks[] = {
    {sequential_rank_0, nullptr},
};

} // namespace sequential


namespace pipeline {

static void rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
    backward(rank, 0, i3);
  }
  all_reduce(rank, 0);
  await(rank, 0);
  step(rank, 0);
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 978255360, 1},
    {0, 978255360, 652170240, 1},
    {0, 1630425600, 995518464, 1},
    {0, 2625944064, 1920, 1},
    {0, 2625945984, 65536, 8},
    {0, 2626470272, 128319680, 1},
    {0, 2754789952, 5537792, 1},
    {0, 2760327744, 3265525760, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {5, 1, slots_0}, // replica 0 workspace
    {}, {}, {}, {}, {6, 1, slots_0}, // replica 0 saved_for_input_grad
    {7, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t collective_0[] = {0};
constexpr CollectiveDesc collectives[] = {
    {CollectiveKind::GradientNorm, "", 1, collective_0, 0},
};
constexpr int32_t rank_of_replica[] = {0};
constexpr int64_t peak_memory_bytes[] = {3271063552};
// Predicted ns by replica, of forward input_grad weight_grad backward recompute unshard reshard reduce_grad step
constexpr int64_t work_ns[] = {8714894, 9643489, 8095839, 17739328, 0, 0, 0,
    0, 0};
constexpr RankDesc ranks[] = {
    {rank_0, nullptr},
};

} // namespace pipeline


namespace evaluation {

static void evaluation_rank_0(Rank & v1, const int64_t* v2) {
  (void)v2;
  Rank &rank = v1;
  for (int64_t i3 = 0; i3 < 8; i3 += 1) {
    forward(rank, 0, i3);
  }
  return;
}
// Slots that a buffer takes, micro-batch after micro-batch.
constexpr uint16_t slots_0[] = {0, 1, 2, 3, 4, 5, 6, 7};
// rank, offset, bytes of a slot, slots
constexpr PoolDesc pools[] = {
    {0, 0, 978255360, 1},
    {0, 978255360, 652170240, 1},
    {0, 1630425600, 995518464, 1},
    {0, 2625944064, 1920, 1},
    {0, 2625945984, 65536, 8},
    {0, 2626470272, 128319680, 1},
    {0, 2754789952, 5537792, 1},
    {0, 2760327744, 3265525760, 1},
};
// pool, period, slots; parts from a later micro-batch on: how many, which;
// by replica and buffer
constexpr PlaceDesc places[] = {
    {0, 1, slots_0}, // replica 0 weights
    {1, 1, slots_0}, // replica 0 gradients
    {2, 1, slots_0}, // replica 0 moments
    {}, {3, 1, slots_0}, // replica 0 control
    {4, 8, slots_0}, // replica 0 data
    {5, 1, slots_0}, // replica 0 workspace
    {}, {}, {}, {}, {6, 1, slots_0}, // replica 0 saved_for_input_grad
    {7, 1, slots_0}, // replica 0 saved_for_weight_grad
    {}, {}, {}, {}, {}, {}, {}, 
};
constexpr int32_t rank_of_replica[] = {0};
constexpr RankDesc ranks[] = {
    {evaluation_rank_0, nullptr},
};

} // namespace evaluation

} // namespace

// number, name, kind; micro-batches, samples of each, whether they
// are added in index order; layers, shares, edges; ranks;
// replicas' ranks; pools; places; collectives; predicted ns of an iteration, of
// all ranks' work; peak bytes by rank; where collectives receive; work
constexpr ProgramDesc programs[] = {
    {0, "sequential", ProgramKind::Sequential, 8, 8, true,
     layers, shares, nullptr, 1, sequential::ranks, sequential::rank_of_replica,
     8, sequential::pools, 20, sequential::places, 1, sequential::collectives,
     0, 0, nullptr, nullptr, nullptr},
    {1, "one_stage", ProgramKind::Pipeline, 8, 8, true,
     layers, shares, nullptr, 1, pipeline::ranks, pipeline::rank_of_replica,
     8, pipeline::pools, 20, pipeline::places, 1, pipeline::collectives,
     211633776, 211633776, pipeline::peak_memory_bytes, nullptr, pipeline::work_ns},
    {2, "evaluation", ProgramKind::Evaluation, 8, 8, true,
     layers, shares, nullptr, 1, evaluation::ranks, evaluation::rank_of_replica,
     8, evaluation::pools, 20, evaluation::places, 0, nullptr,
     0, 0, nullptr, nullptr, nullptr},
};
constexpr int64_t arena_bytes[] = {6025853504};
constexpr Executable executable = {"one_stage", 14, layers, 1, stages, 1, replicas, 0, nullptr, 1, arena_bytes, 3, programs,
    &cudaBackend, 0, nullptr, nullptr};

int main(int argc, char **argv) {
  return run_executable(executable, argc, argv);
}

#endif // RONDO_TABLES_VERSION


