//===- Buffers.h - The kinds of buffers and their traits --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only list of buffers. Compiler and runtime include it; it depends on
// nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_BUFFERS_H
#define RONDO_KINDS_BUFFERS_H

#include <cstdint>

namespace rondo {

/// How long a buffer lives.
enum class Lifetime : uint8_t {
  /// As long as the program.
  State,
  /// From one action to another.
  Transient,
};

/// What a buffer has a slot for. Instance i is in slot slotOf[i modulo period]
/// of its pool.
enum class SlotPer : uint8_t {
  /// There is only one.
  Program,
  /// A version of the weights: how many optimizer steps have made them.
  Version,
  Microbatch,
  /// A gather of the replica's weights, or a sum of its group's gradients, in
  /// an
  /// iteration.
  Unit,
};

/// What a buffer belongs to.
enum class Owner : uint8_t {
  Stage,
  /// An edge's end at a stage. If both ends are on one rank, they share a slot.
  Edge,
  /// All stages of a rank, in turn.
  Rank,
};

/// The list: enumerator, keyword of the dialect, lifetime, slot, owner.
#define RONDO_BUFFER_KINDS(X)                                                  \
  /* Parameters. */                                                            \
  X(Weights, "weights", State, Version, Stage)                                 \
  /* Sums of the gradients that W or B makes. */                               \
  X(Gradients, "gradients", State, Program, Stage)                             \
  /* The optimizer's state. */                                                 \
  X(Moments, "moments", State, Program, Stage)                                 \
  /* Of weights that are moved back: the running mean of their changes. */     \
  X(WeightChanges, "weight_changes", State, Program, Stage)                    \
  /* Losses, partial norms, learning rate, step number. */                     \
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
  /* Of a stage that recomputes: what R begins with within the stage, from the \
   */                                                                          \
  /* start of F to the end of R. */                                            \
  X(Checkpoints, "checkpoints", Transient, Microbatch, Stage)                  \
  /* What R restores: from its start to the end of I or B, of W or B. */       \
  X(RecomputedForInputGrad, "recomputed_for_input_grad", Transient,            \
    Microbatch, Stage)                                                         \
  X(RecomputedForWeightGrad, "recomputed_for_weight_grad", Transient,          \
    Microbatch, Stage)                                                         \
  /* Of a stage that recomputes from what another has recomputed: from the     \
   */                                                                          \
  /* receive to the end of R. */                                               \
  X(RecomputedInput, "recomputed_input", Transient, Microbatch, Edge)          \
  /* What R makes for such a stage: from its start to the end of its send. */  \
  X(RecomputedOutput, "recomputed_output", Transient, Microbatch, Edge)        \
  /* Of a replica that has a shard of its weights: all of them, from unshard   \
   * to                                                                        \
   */                                                                          \
  /* reshard. */                                                               \
  X(GatheredWeights, "gathered_weights", Transient, Unit, Stage)               \
  /* Its gradients of all weights, from the first W or B of a unit to the end  \
   */                                                                          \
  /* of reduce_grad. */                                                        \
  X(UnreducedGradients, "unreduced_gradients", Transient, Unit, Stage)

/// What memory is held for.
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

/// By kind.
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

} // namespace rondo

#endif // RONDO_KINDS_BUFFERS_H
