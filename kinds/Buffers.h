//===- Buffers.h - Buffer kinds and their traits ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of buffer kinds, shared by compiler and runtime. It depends on
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_BUFFERS_H
#define RONDO_KINDS_BUFFERS_H

#include <cstdint>

namespace rondo {

/// The lifetime of a buffer.
enum class Lifetime : uint8_t {
  /// Lives as long as the program.
  State,
  /// Lives from one action of the order to another.
  Transient,
};

/// The unit for which a buffer has a slot. Instance i is in slot slotOf[i
/// modulo period] of its pool.
enum class SlotPer : uint8_t {
  /// One slot for the whole program.
  Program,
  /// A version of the weights, i.e. the number of optimizer steps before it.
  Version,
  Microbatch,
  /// A gather of the replica's weights, or a reduction of its group's
  /// gradients, within an iteration.
  Unit,
};

/// The owner of a buffer.
enum class Owner : uint8_t {
  Stage,
  /// One end of an edge, at a stage. If both ends are on one rank, they share a
  /// slot.
  Edge,
  /// All stages of a rank use it in turn.
  Rank,
};

/// X(enumerator, keyword of the dialect, lifetime, slot, owner).
#define RONDO_BUFFER_KINDS(X)                                                  \
  /* Parameters. */                                                            \
  X(Weights, "weights", State, Version, Stage)                                 \
  /* Sums of the gradients that W or B makes. */                               \
  X(Gradients, "gradients", State, Program, Stage)                             \
  /* The optimizer's state. */                                                 \
  X(Moments, "moments", State, Program, Stage)                                 \
  /* Running mean of weight changes, for extrapolated weights. */              \
  X(WeightChanges, "weight_changes", State, Program, Stage)                    \
  /* Losses, norms, learning rate, starts of documents that GPUs read. */      \
  X(Control, "control", State, Program, Stage)                                 \
  /* Staged tokens and targets. */                                             \
  X(Data, "data", State, Microbatch, Stage)                                    \
  /* Scratch of one task. */                                                   \
  X(Workspace, "workspace", State, Program, Rank)                              \
  /* From the receive to the end of F. */                                      \
  X(Input, "input", Transient, Microbatch, Edge)                               \
  /* From the start of F to the end of its send. */                            \
  X(Output, "output", Transient, Microbatch, Edge)                             \
  /* From the receive to the end of I or B. */                                 \
  X(OutputGrad, "output_grad", Transient, Microbatch, Edge)                    \
  /* From the start of I or B to the end of its send. */                       \
  X(InputGrad, "input_grad", Transient, Microbatch, Edge)                      \
  /* From the start of F to the end of I or B. */                              \
  X(SavedForInputGrad, "saved_for_input_grad", Transient, Microbatch, Stage)   \
  /* From the start of F to the end of W or B. */                              \
  X(SavedForWeightGrad, "saved_for_weight_grad", Transient, Microbatch, Stage) \
  /* Inputs of R within the stage: from the start of F to the end of R. */     \
  X(Checkpoints, "checkpoints", Transient, Microbatch, Stage)                  \
  /* Restored by R: from its start to the end of I or B. */                    \
  X(RecomputedForInputGrad, "recomputed_for_input_grad", Transient,            \
    Microbatch, Stage)                                                         \
  /* Restored by R: from its start to the end of W or B. */                    \
  X(RecomputedForWeightGrad, "recomputed_for_weight_grad", Transient,          \
    Microbatch, Stage)                                                         \
  /* Input of R from another stage's R: from the receive to the end of R. */   \
  X(RecomputedInput, "recomputed_input", Transient, Microbatch, Edge)          \
  /* Output of R for another stage: from its start to the end of its send. */  \
  X(RecomputedOutput, "recomputed_output", Transient, Microbatch, Edge)        \
  /* All weights of a sharded stage: from unshard to reshard. */               \
  X(GatheredWeights, "gathered_weights", Transient, Unit, Stage)               \
  /* Gradients of all weights of a sharded stage: from the first W or B of */  \
  /* a unit to the end of reduce_grad. */                                      \
  X(UnreducedGradients, "unreduced_gradients", Transient, Unit, Stage)         \
  /* What I leaves for W: from the start of I to the end of W. */              \
  X(KeptForWeightGrad, "kept_for_weight_grad", Transient, Microbatch, Stage)   \
  /* What may leave of what layers save, or the checkpoints of a stage, all */ \
  /* of them in the first. Copied micro-batches: from the start of F to the */ \
  /* end of SAVE; others: as SavedForInputGrad, SavedForWeightGrad and */      \
  /* Checkpoints. */                                                           \
  X(OffloadedForInputGrad, "offloaded_for_input_grad", Transient, Microbatch,  \
    Stage)                                                                     \
  X(OffloadedForWeightGrad, "offloaded_for_weight_grad", Transient,            \
    Microbatch, Stage)                                                         \
  /* The same of copied micro-batches, from the start of LOAD on. */           \
  X(LoadedForInputGrad, "loaded_for_input_grad", Transient, Microbatch, Stage) \
  X(LoadedForWeightGrad, "loaded_for_weight_grad", Transient, Microbatch,      \
    Stage)                                                                     \
  /* Both, in the host's memory: from the start of SAVE to the end of LOAD. */ \
  X(OnHost, "on_host", Transient, Microbatch, Stage)

/// The kinds of buffers.
enum class BufferKind : uint8_t {
#define RONDO_ENUMERATOR(name, keyword, lifetime, slot, owner) name,
  RONDO_BUFFER_KINDS(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

struct BufferTraits {
  BufferKind kind;
  /// `saved_for_weight_grad`: the keyword of the dialect.
  const char *keyword;
  Lifetime lifetime;
  SlotPer slotPer;
  Owner owner;

  constexpr bool isState() const { return lifetime == Lifetime::State; }
};

/// Indexed by kind.
inline constexpr BufferTraits bufferTable[] = {
#define RONDO_ROW(name, keyword, lifetime, slot, owner)                        \
  {BufferKind::name, keyword, Lifetime::lifetime, SlotPer::slot, Owner::owner},
    RONDO_BUFFER_KINDS(RONDO_ROW)
#undef RONDO_ROW
};
inline constexpr int numBufferKinds = sizeof bufferTable / sizeof *bufferTable;

constexpr const BufferTraits &traitsOf(BufferKind kind) {
  return bufferTable[static_cast<int>(kind)];
}

/// Whether a buffer is written by F and may be copied to the host.
constexpr bool isOffloaded(BufferKind kind) {
  return kind == BufferKind::OffloadedForInputGrad ||
         kind == BufferKind::OffloadedForWeightGrad;
}
/// Whether a buffer is written by LOAD.
constexpr bool isLoaded(BufferKind kind) {
  return kind == BufferKind::LoadedForInputGrad ||
         kind == BufferKind::LoadedForWeightGrad;
}

} // namespace rondo

#endif // RONDO_KINDS_BUFFERS_H
