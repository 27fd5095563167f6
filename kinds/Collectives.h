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

/// The list: enumerator, keyword of the dialect, whether it names a tensor,
/// whether it reads the results of the others.
#define RONDO_COLLECTIVE_KINDS(X)                                              \
  /* Adds the partial gradients of a weight that several stages share; all */  \
  /* get the sum. */                                                           \
  X(TiedGradients, "tied_gradients", true, false)                              \
  /* The global norm of all gradients, and the clip factor. */                 \
  X(GradientNorm, "gradient_norm", false, true)

enum class CollectiveKind : uint8_t {
#define RONDO_ENUMERATOR(name, keyword, tensor, last) name,
  RONDO_COLLECTIVE_KINDS(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

struct CollectiveTraits {
  CollectiveKind kind;
  /// The enumerator, and the keyword of the dialect.
  const char *name, *keyword;
  /// Whether it is for one tensor, named by its global name.
  bool namesTensor;
  /// Whether it reads gradients as collectives of other kinds leave them, so
  /// that these must be awaited before it is issued.
  bool readsSums;
};

inline constexpr CollectiveTraits collectiveTable[] = {
#define RONDO_ROW(name, keyword, tensor, last)                                 \
  {CollectiveKind::name, #name, keyword, tensor, last},
    RONDO_COLLECTIVE_KINDS(RONDO_ROW)
#undef RONDO_ROW
};
inline constexpr int numCollectiveKinds =
    sizeof collectiveTable / sizeof *collectiveTable;

constexpr const CollectiveTraits &traitsOf(CollectiveKind kind) {
  return collectiveTable[static_cast<int>(kind)];
}

} // namespace rondo

#endif // RONDO_KINDS_COLLECTIVES_H
