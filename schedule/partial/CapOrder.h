//===- CapOrder.h - Task order forced by a memory cap -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precedences between a rank's tasks that follow from its memory cap. They hold
// in every schedule that keeps the cap, whatever the times.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTIAL_CAPORDER_H
#define RONDO_SCHEDULE_PARTIAL_CAPORDER_H

#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// The precedences of one rank of a chain. Stages are named by their position
/// among the rank's stages. There are none if all activations fit, or if the
/// graph is not a chain.
class CapOrder {
public:
  /// O(microbatches * stages of the rank ^ 3).
  CapOrder(const FlatProblem &flat, int32_t rank);

  /// Lower bound on the number of F of `other` that have started when F of
  /// (stage, k) has: k + 1 for stages up to `stage`; for a later stage, the
  /// smallest j for which F of (other, j) still fits the cap.
  int32_t started(int32_t stage, int32_t k, int32_t other) const {
    return other <= stage  ? k + 1
           : later.empty() ? 0
                           : later[(size_t(stage) * places + other) * all + k];
  }
  /// The first k for which F of (stage, k) must come after `task` of (of, j);
  /// the number of micro-batches if there is none.
  int32_t firstBehind(Task task, int32_t of, int32_t j, int32_t stage) const {
    return behind.empty()
               ? all
               : behind[(size_t(codeOf(task, of)) * places + stage) * all + j];
  }

private:
  int32_t places, all;
  std::vector<int32_t> later, behind;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_CAPORDER_H
