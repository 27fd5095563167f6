//===- RankPath.h - A micro-batch's way through a rank ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_RANKPATH_H
#define RONDO_SCHEDULE_BOUNDS_RANKPATH_H

#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// The operations of one micro-batch on one rank of a chain.
struct RankPath {
  struct Operation {
    int64_t ns = 0;
    /// The earliest start, and the least time from its end to the objective.
    int64_t head = 0, tail = 0;
    /// Bytes: taken at its start and freed at its end.
    int64_t takes = 0, frees = 0;
  };
  /// F by ascending, then I by descending stages.
  std::vector<Operation> operations;
  /// W, in the order of I.
  std::vector<Operation> leaves;
  int64_t cap = 0;
  /// The least time from the end of the rank to the objective.
  int64_t endOffset = 0;

  /// When its first operation can start.
  int64_t begin() const { return operations.front().head; }
  int64_t work() const;
  /// Bytes times ns that a micro-batch holds if each operation starts as soon
  /// as the one before it allows.
  double area() const;
  /// The longest time by which the last operation can be delayed in an
  /// objective, and so each one; negative if the objective is too short.
  int64_t slack(int64_t objective) const;
};

/// One path for each rank that has stages and frees all bytes; `cap` is the
/// usable one (HeldBytes.h). The problem must be a chain. O(stages).
std::vector<RankPath> rankPathsOf(const FlatProblem &flat);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKPATH_H
