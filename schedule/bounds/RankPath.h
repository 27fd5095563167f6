//===- RankPath.h - A micro-batch's way through a rank ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_RANKPATH_H
#define RONDO_SCHEDULE_BOUNDS_RANKPATH_H

#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// What a micro-batch does on one rank of a chain.
struct RankPath {
  struct Operation {
    int64_t ns = 0;
    /// The earliest start, and the least time from its end to the objective.
    int64_t head = 0, tail = 0;
    /// At its start and at its end.
    int64_t takes = 0, frees = 0;
  };
  /// F by ascending, then I by descending stages.
  std::vector<Operation> operations;
  /// W, in the order of I.
  std::vector<Operation> leaves;
  int64_t cap = 0;
  /// The rank ends this long before the objective, at least.
  int64_t endOffset = 0;

  /// When its first operation can start.
  int64_t begin() const { return operations.front().head; }
  int64_t work() const;
  /// Bytes times ns, if every operation follows the one before it at once.
  double area() const;
  /// How long the last operation, and so each, can be put off in an objective;
  /// negative if there is not enough time.
  int64_t slack(int64_t objective) const;
};

/// One for each rank that keeps nothing after the end and has stages; the cap
/// is that which can be used. The problem is a chain. O(stages).
std::vector<RankPath> rankPathsOf(const FlatProblem &flat);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKPATH_H
