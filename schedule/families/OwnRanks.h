//===- OwnRanks.h - Chunks of overlapping iterations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families whose iterations overlap, and the depths of the search, order stages
// that have a rank each. If ranks have several stages (chunks), the stages are
// ordered as if each had a rank of its own, and every rank runs the tasks of
// its stages in the order of the slots in which they begin there: each task
// takes one slot, steps and messages none. The step of a stage that shares a
// weight begins when all gradients are there that it waits for. So the tasks of
// a stage keep their order, and read the versions that they read on ranks of
// their own.
//
// The result has no wait cycle: an action begins no earlier than what it needs
// ends, so in a later slot than any task that it needs, and ranks run their
// actions in the order of slots.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_OWNRANKS_H
#define RONDO_SCHEDULE_FAMILIES_OWNRANKS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <functional>

namespace rondo {

/// Whether a rank has several stages.
bool haveSeveralStages(const Problem &problem);

/// The problem in which stage s is alone on rank s, with the costs and messages
/// of `problem` and without limits on memory. Precondition: every stage has one
/// replica.
Problem onOwnRanks(const Problem &problem);

/// The order of the ranks of `problem`, from the order that `write` gives
/// onOwnRanks() over `underWay` more iterations, as many as the order has under
/// way at once. They are left out, so that the end of the window is that of a
/// longer run. Precondition: as onOwnRanks(). O(actions * log actions), and
/// `write`.
Result<Schedule>
orderOnOwnRanks(const Problem &problem, int64_t underWay,
                const std::function<Result<Schedule>(const Problem &)> &write);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_OWNRANKS_H
