//===- Collectives.h - The kinds of collectives -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only list of what several ranks do together. Compiler and runtime include
// it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_COLLECTIVES_H
#define RONDO_KINDS_COLLECTIVES_H

#include <cstdint>

namespace rondo {

/// The list: enumerator, keyword of the dialect, whether it names a tensor. One
/// kind reads the gradients that those before it in the list leave.
#define RONDO_COLLECTIVE_KINDS(X)                                              \
  /* Gathers the weights of which the replicas of a group have shards, for     \
   * each.                                                                     \
   */                                                                          \
  X(GatherWeights, "gather_weights", false)                                    \
  /* Adds the gradients of a group's replicas; each gets its shard of the sum. \
   */                                                                          \
  X(ScatterGradients, "scatter_gradients", false)                              \
  /* Adds the gradients of a stage over its replicas; all get the sum. */      \
  X(ReplicaGradients, "replica_gradients", false)                              \
  /* Adds the partial gradients of a weight that several stages share; all */  \
  /* get the sum. */                                                           \
  X(TiedGradients, "tied_gradients", true)                                     \
  /* The global norm of all gradients, and the clip factor. */                 \
  X(GradientNorm, "gradient_norm", false)

enum class CollectiveKind : uint8_t {
#define RONDO_ENUMERATOR(name, keyword, tensor) name,
  RONDO_COLLECTIVE_KINDS(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

struct CollectiveTraits {
  CollectiveKind kind;
  /// The enumerator, and the keyword of the dialect.
  const char *name, *keyword;
  /// Whether it is for one tensor, named by its global name.
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

/// Whether it runs at the unshard or reduce_grad of its replicas, any number of
/// times an iteration; if not, at an all_reduce, once.
constexpr bool movesState(CollectiveKind kind) {
  return kind == CollectiveKind::GatherWeights ||
         kind == CollectiveKind::ScatterGradients;
}

/// Whether a collective reads gradients as one of another kind leaves them, so
/// that this must be awaited before the first is issued.
constexpr bool readsResultOf(CollectiveKind reader, CollectiveKind other) {
  return other != CollectiveKind::GatherWeights &&
         static_cast<int>(other) < static_cast<int>(reader);
}

/// Whether every replica contributes; if not, only the owners of the stages'
/// tensors do, since the replicas of a stage are then alike.
constexpr bool allReplicasContribute(CollectiveKind kind) {
  return kind == CollectiveKind::ReplicaGradients || movesState(kind);
}

} // namespace rondo

#endif // RONDO_KINDS_COLLECTIVES_H
