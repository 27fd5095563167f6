//===- Differences.h - Where prediction and measurement differ --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H
#define RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H

#include "schedule/timeline/Measured.h"
#include "schedule/timeline/Timeline.h"

#include <vector>

namespace rondo {

/// A task, or the wait for messages before it, in both.
struct Difference {
  Action action;
  int32_t rank = 0;
  bool isWait = false;
  /// Of a wait: who sends what came last, predicted and measured; -1 where
  /// nothing was waited for.
  int32_t predictedOn = -1, measuredOn = -1;
  int64_t predictedNs = 0, measuredNs = 0;
  /// When the task starts.
  int64_t predictedStartNs = 0, measuredStartNs = 0;

  int64_t ns() const { return measuredNs - predictedNs; }
};

/// Of all tasks of the schedule, the `most` that differ most, largest first; of
/// equals, those of lower ranks and then earlier ones. `measured` lays out the
/// iteration and has all tasks of `predicted`, which lays out
/// `predictedIteration` if that is not null and is simulated otherwise.
/// O(tasks * log).
std::vector<Difference> largestDifferences(
    const Timeline &predicted, const MeasuredIteration *predictedIteration,
    const Timeline &measured, const MeasuredIteration &iteration, size_t most);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H
