//===- Waits.h - Who waits for what -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the two simulators, the rules and faults.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_WAITS_H
#define RONDO_SCHEDULE_MODEL_WAITS_H

#include "schedule/model/Schedule.h"

namespace rondo {

/// One rank of a wait cycle: `rank` is at `at` and needs what `needs` of
/// `onRank` makes. `behind`, where `isBehind`, is the message that link_order
/// puts before it, or the launch or collective of `onRank` that must have ended
/// before it begins.
struct Wait {
  int32_t rank = 0;
  Action at;
  Action needs;
  int32_t onRank = 0;
  bool isBehind = false;
  Action behind;
};

/// The first kind that makes all that is asked for: F, I or W.
constexpr ActionKind kindThatMakes(Done progress) {
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.isTask() && (traits.makes & progress) == progress)
      return traits.kind;
  return ActionKind::Backward;
}

/// Where `action` is in an order, or the B that holds it where `action` is
/// an I; -1 where neither does. O(order).
int64_t findTask(ActionRange order, Action action);

/// `action`, or the B that findTask() finds for it.
Action asListed(ActionRange order, Action action);

/// The first micro-batch for which something is not done that an action needs,
/// of all of its replica in its iteration or of its own, which is then assumed
/// to block it; -1 where there is none. `done` is that of the replica, by
/// micro-batch, `microbatches` those of an iteration.
int64_t firstBlocking(Action action, const Done *done, int64_t microbatches);

/// The circle that a walk from `start` along `next` ends in; the whole walk
/// where it ends at a rank whose next is below 0, without that rank.
std::vector<int32_t> walkToCircle(const std::vector<int32_t> &next,
                                  int32_t start);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_WAITS_H
