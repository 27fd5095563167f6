//===- Waits.h - Waits between ranks ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wait cycles and blocked tasks; used by both simulators, the rules and the
// faults.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_WAITS_H
#define RONDO_SCHEDULE_MODEL_WAITS_H

#include "schedule/model/Schedule.h"

namespace rondo {

/// One rank of a wait cycle. `rank` is blocked at action `at`, which needs the
/// result of `needs` on `onRank`. If `isBehind`, `behind` is the action that
/// must end before `needs` begins: the message before it in link_order, or a
/// launch or collective of `onRank`. If `at` is a copy, `isBehind` says that
/// copy_order puts `needs` before it.
struct Wait {
  int32_t rank = 0;
  Action at;
  Action needs;
  int32_t onRank = 0;
  bool isBehind = false;
  Action behind;
};

/// The first kind that does all tasks and copies of `progress`: F, I, W, B, R,
/// SAVE or LOAD. If none does, the kind of the first of them.
constexpr ActionKind kindThatMakes(Done progress) {
  for (const Done wanted :
       {progress, static_cast<Done>(progress & (~progress + 1))})
    for (const ActionTraits &traits : actionTable.rows)
      if ((traits.isTask() || traits.isCopy()) &&
          (traits.makes & wanted) == wanted)
        return traits.kind;
  return ActionKind::Backward;
}

/// Position of `action` in an order. An I is also found in a B that includes
/// it, a W only in a B that serves several micro-batches. -1 if there is none.
/// O(order).
int64_t findTask(ActionRange order, Action action);

/// `action`, or the B that findTask() finds for it.
Action asListed(ActionRange order, Action action);

/// The micro-batch that blocks an action. If the kind needs tasks of all
/// micro-batches (`needsOfAll`), the first one of the replica's iteration for
/// which they are not done, or -1; otherwise the action's own index. `done`
/// holds the replica's progress per micro-batch; an iteration has
/// `microbatches` of them.
int64_t firstBlocking(Action action, const Done *done, int64_t microbatches);

/// Follows `next` from `start` and returns the cycle that it reaches. If it
/// reaches a rank whose `next` is negative, returns the whole path without that
/// rank.
std::vector<int32_t> walkToCircle(const std::vector<int32_t> &next,
                                  int32_t start);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_WAITS_H
