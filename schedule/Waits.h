//===- Waits.h - Who waits for what -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the two simulators and the rules.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_WAITS_H
#define RONDO_SCHEDULE_WAITS_H

#include "schedule/Schedule.h"

namespace rondo {

/// The first kind that makes all that is asked for: F, I or W.
constexpr ActionKind kindThatMakes(Done progress) {
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.isTask() && (traits.makes & progress) == progress)
      return traits.kind;
  return ActionKind::Backward;
}

/// Where `action` stands in an order, or the B that holds it where `action` is
/// an I; -1 where neither does. O(order).
int64_t findTask(ActionRange order, Action action);

/// `action`, or the B that findTask() finds for it.
Action asListed(ActionRange order, Action action);

/// The circle that a walk from `start` along `next` ends in; the whole walk
/// where it ends at a rank whose next is below 0, without that rank.
std::vector<int32_t> walkToCircle(const std::vector<int32_t> &next,
                                  int32_t start);

} // namespace rondo

#endif // RONDO_SCHEDULE_WAITS_H
