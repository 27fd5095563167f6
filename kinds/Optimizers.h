//===- Optimizers.h - Optimizer state per weight ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of optimizers for which memory can be planned, shared by compiler
// and runtime.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_OPTIMIZERS_H
#define RONDO_KINDS_OPTIMIZERS_H

#include <cstdint>

namespace rondo {

/// X(enumerator, keyword, moments per weight).
#define RONDO_PLANNED_OPTIMIZERS(X)                                            \
  X(AdamW, "adamw", 2)                                                         \
  /* With momentum. */                                                         \
  X(Sgd, "sgd", 1)                                                             \
  /* Without. */                                                               \
  X(PlainSgd, "plain_sgd", 0)

enum class PlannedOptimizer : uint8_t {
#define RONDO_ENUMERATOR(name, keyword, moments) name,
  RONDO_PLANNED_OPTIMIZERS(RONDO_ENUMERATOR)
#undef RONDO_ENUMERATOR
};

struct PlannedOptimizerTraits {
  const char *keyword;
  /// Size of the optimizer state, as a multiple of the gradients' size.
  int32_t moments;
};

inline constexpr PlannedOptimizerTraits plannedOptimizers[] = {
#define RONDO_ROW(name, keyword, moments) {keyword, moments},
    RONDO_PLANNED_OPTIMIZERS(RONDO_ROW)
#undef RONDO_ROW
};
inline constexpr int numPlannedOptimizers =
    sizeof plannedOptimizers / sizeof *plannedOptimizers;

constexpr const PlannedOptimizerTraits &traitsOf(PlannedOptimizer optimizer) {
  return plannedOptimizers[static_cast<int>(optimizer)];
}
/// The first optimizer of the list with this number of moments. Memory is
/// planned for it.
constexpr PlannedOptimizer optimizerWith(int32_t moments) {
  return moments >= 2   ? PlannedOptimizer::AdamW
         : moments == 1 ? PlannedOptimizer::Sgd
                        : PlannedOptimizer::PlainSgd;
}

} // namespace rondo

#endif // RONDO_KINDS_OPTIMIZERS_H
