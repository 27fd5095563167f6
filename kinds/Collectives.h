//===- Collectives.h - Kinds of collectives ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of collectives, shared by compiler and runtime.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_COLLECTIVES_H
#define RONDO_KINDS_COLLECTIVES_H

#include <cstdint>

namespace rondo {

/// X(enumerator, keyword of the dialect, whether it names a tensor). The order
/// matters: a kind reads the gradients that the kinds before it produce; see
/// readsResultOf().
#define RONDO_COLLECTIVE_KINDS(X)                                              \
  /* Gathers the weights from the shards of a group's replicas. */             \
  X(GatherWeights, "gather_weights", false)                                    \
  /* Adds the gradients of a group's replicas; each gets its shard of */       \
  /* the sum. */                                                               \
  X(ScatterGradients, "scatter_gradients", false)                              \
  /* Adds the gradients of a stage over its replicas; all get the sum. */      \
  X(ReplicaGradients, "replica_gradients", false)                              \
  /* Adds the partial gradients of a weight that several stages share; all */  \
  /* get the sum. */                                                           \
  X(TiedGradients, "tied_gradients", true)                                     \
  /* The global norm of all gradients, and the clip factor. */                 \
  X(GradientNorm, "gradient_norm", false)                                      \
  /* Gathers the weights that the steps of a group's replicas have made: each  \
   */                                                                          \
  /* replica updates its shard. */                                             \
  X(GatherUpdates, "gather_updates", false)

enum class CollectiveKind : uint8_t {
#define RONDO_ENUMERATOR(name, keyword, tensor) name,
  RONDO_COLLECTIVE_KINDS(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

struct CollectiveTraits {
  CollectiveKind kind;
  /// The enumerator, and the keyword of the dialect.
  const char *name, *keyword;
  /// Whether it is for one tensor, identified by its global name.
  bool namesTensor;
};

inline constexpr CollectiveTraits collectiveTable[] = {
#define RONDO_ROW(name, keyword, tensor)                                       \
  {CollectiveKind::name, #name, keyword, tensor},
    RONDO_COLLECTIVE_KINDS(RONDO_ROW)
#undef RONDO_ROW
};
inline constexpr int numCollectiveKinds =
    sizeof collectiveTable / sizeof *collectiveTable;

constexpr const CollectiveTraits &traitsOf(CollectiveKind kind) {
  return collectiveTable[static_cast<int>(kind)];
}

/// Whether it runs at each unshard or reduce_grad of its replicas, any number
/// of times per iteration. All other kinds run once, at an all_reduce.
constexpr bool movesState(CollectiveKind kind) {
  return kind == CollectiveKind::GatherWeights ||
         kind == CollectiveKind::ScatterGradients;
}

/// Whether it reads what steps make. Such a collective is issued after the
/// steps of its replicas on the rank, and awaited before their next tasks.
constexpr bool readsSteps(CollectiveKind kind) {
  return kind == CollectiveKind::GatherUpdates;
}

/// Whether `reader` reads gradients that `other` produces. Then `other` must be
/// awaited before `reader` is issued.
constexpr bool readsResultOf(CollectiveKind reader, CollectiveKind other) {
  return other != CollectiveKind::GatherWeights && !readsSteps(reader) &&
         static_cast<int>(other) < static_cast<int>(reader);
}

/// Whether every replica contributes. Otherwise only the owners of the stages'
/// tensors do, because all replicas of a stage have the same values.
constexpr bool allReplicasContribute(CollectiveKind kind) {
  return kind == CollectiveKind::ReplicaGradients || movesState(kind) ||
         readsSteps(kind);
}

} // namespace rondo

#endif // RONDO_KINDS_COLLECTIVES_H
