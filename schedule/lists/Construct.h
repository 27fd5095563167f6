//===- Construct.h - Lists of tasks by priorities ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_LISTS_CONSTRUCT_H
#define RONDO_SCHEDULE_LISTS_CONSTRUCT_H

#include "schedule/lists/RankLists.h"

namespace rondo {

/// Rule by which a free rank chooses its next task.
struct ConstructRule {
  /// When W runs.
  enum class WeightGrad : uint8_t {
    /// If no F or I can start.
    Fills,
    /// Directly after its I.
    Follows,
    /// As Fills, but not if it would delay an input whose arrival is known.
    Waits,
  } weightGrad = WeightGrad::Fills;
  /// Whether I goes before F.
  bool isBackwardFirst = true;
  /// At most this many micro-batches of a rank have run F but not I.
  int32_t inFlight = 1 << 30;
  /// Whether `inFlight` is that of the first rank of a chain, and others have
  /// fewer in proportion to the stages that follow.
  bool isTapered = false;
  /// The order of F if it differs from that of I and W; else empty.
  std::vector<int32_t> forwards = {};
};

/// Runs a clock: each rank that is free takes the task that the rule prefers of
/// those that can start, of one kind that which comes first in `order`. F
/// starts if the rank then still fits all F of the micro-batches that it has
/// begun, so that it always reaches their backwards. R runs directly before its
/// backward. False if tasks wait for each other.
bool construct(const TaskGraph &graph, const ConstructRule &rule,
               OrderClass orders, std::vector<int32_t> order, RankLists &lists);

/// The lists that run one micro-batch after another; needs the least memory.
RankLists constructOneByOne(const TaskGraph &graph, std::vector<int32_t> order);

} // namespace rondo

#endif // RONDO_SCHEDULE_LISTS_CONSTRUCT_H
