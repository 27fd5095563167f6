//===- Tails.h - What must follow each task ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTIAL_TAILS_H
#define RONDO_SCHEDULE_PARTIAL_TAILS_H

#include "schedule/partial/CapOrder.h"
#include "schedule/partial/FlatProblem.h"

#include <array>
#include <vector>

namespace rondo {

/// The least time from the end of every task to the end of the objective.
/// Static: does not depend on a state.
struct Tails {
  /// [letter][FlatProblem::at()].
  std::array<std::vector<int64_t>, 3> ns;
  /// From the end of each message's time on its link,
  /// [FlatProblem::messageAt()]; only if it occupies the link.
  std::vector<int64_t> message;

  /// `capOrders` by rank; empty if caps are ignored.
  Tails(const FlatProblem &flat, const std::vector<CapOrder> &capOrders);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_TAILS_H
