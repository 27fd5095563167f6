//===- Tails.h - Least time from each task to the end -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTIAL_TAILS_H
#define RONDO_SCHEDULE_PARTIAL_TAILS_H

#include "schedule/partial/CapOrder.h"
#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// Least time in ns from the end of every task to the end of the objective.
/// Depends on the problem only, not on a state.
struct Tails {
  /// [task][FlatProblem::at()].
  PerTask<std::vector<int64_t>> ns;
  /// [FlatProblem::messageAt()]: least time from the end of the message's time
  /// on its link; only for messages that occupy the link.
  std::vector<int64_t> message;

  /// `capOrders` is indexed by rank; empty if caps are ignored.
  Tails(const FlatProblem &flat, const std::vector<CapOrder> &capOrders);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_TAILS_H
