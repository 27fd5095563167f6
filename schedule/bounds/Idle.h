//===- Idle.h - How long a rank must wait at both ends ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a time t a rank can only have run what was released by then, and of
// all F only as many as the cap and the bytes given back by then allow to
// start. What is missing to t is idle time. The same holds at the end, where
// the activations whose I or W is left are those that the cap held and those
// whose F is left.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_IDLE_H
#define RONDO_SCHEDULE_BOUNDS_IDLE_H

#include "schedule/partial/Propagation.h"

#include <vector>

namespace rondo {

enum class Side : uint8_t { Begin, End };

/// Up to some time from one side at most `work` runs, and at least `idle` is
/// lost. At the end, time counts back from the objective.
struct IdlePoint {
  int64_t work, idle;
};

/// Both numbers increase, `idle` from each point to the next; the first has no
/// work. The propagation must have estimated the empty state. Ignores times
/// after `latest`. O(n log n) of the rank's tasks.
std::vector<IdlePoint> idleOf(const FlatProblem &flat,
                              const Propagation &propagation, int32_t rank,
                              Side side, int64_t latest = never);

/// The most that can be idle at a side if so much work is left that not all of
/// it runs there.
int64_t idleBeside(const std::vector<IdlePoint> &points, int64_t work);

/// No objective of a problem with this many micro-batches is below a rank's
/// work plus the idle time of both sides. The flat problem may have fewer: its
/// heads are those of the first ones, its tails those of the last ones.
int64_t idleBound(const FlatProblem &flat, const Propagation &propagation,
                  int64_t microbatches);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_IDLE_H
