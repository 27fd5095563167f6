//===- CapOrder.h - Task order forced by a memory cap -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Consequences of a rank's cap for the order of its tasks, whatever the times.
// Each holds in every schedule that keeps the cap.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTIAL_CAPORDER_H
#define RONDO_SCHEDULE_PARTIAL_CAPORDER_H

#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// One rank of a chain. Stages are named by their position among those of the
/// rank. Has no consequences if all activations fit, nor for other graphs.
class CapOrder {
public:
  /// O(microbatches * stages of the rank ^ 3).
  CapOrder(const FlatProblem &flat, int32_t rank);

  /// The number of F of `other` that have been started when F of (stage, k)
  /// has: k + 1 for stages up to it, and for later ones so many that the next
  /// can still fit.
  int32_t started(int32_t stage, int32_t k, int32_t other) const {
    return other <= stage  ? k + 1
           : later.empty() ? 0
                           : later[(size_t(stage) * places + other) * all + k];
  }
  /// The first k for which F of (stage, k) must come after task j of (letter,
  /// of); the number of micro-batches if there is none.
  int32_t firstBehind(int letter, int32_t of, int32_t j, int32_t stage) const {
    return behind.empty()
               ? all
               : behind[((size_t(letter) * places + of) * places + stage) *
                            all +
                        j];
  }

private:
  int32_t places, all;
  std::vector<int32_t> later, behind;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_CAPORDER_H
