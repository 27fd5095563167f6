//===- Differences.h - Predicted and measured times -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H
#define RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H

#include "schedule/timeline/Measured.h"
#include "schedule/timeline/Timeline.h"

#include <vector>

namespace rondo {

/// A task, or the wait for messages before it, as predicted and as measured.
struct Difference {
  Action action;
  int32_t rank = 0;
  bool isWait = false;
  /// For a wait: the rank that sent the last message, predicted and measured;
  /// -1 if there was no wait.
  int32_t predictedOn = -1, measuredOn = -1;
  int64_t predictedNs = 0, measuredNs = 0;
  /// Start of the task.
  int64_t predictedStartNs = 0, measuredStartNs = 0;

  int64_t ns() const { return measuredNs - predictedNs; }
};

/// The `most` largest differences over all tasks of the schedule, largest
/// first; ties go to lower ranks, then to earlier tasks. `measured` lays out
/// `iteration` and has all tasks of `predicted`. `predicted` lays out
/// `predictedIteration`, or a simulation if that is null. O(tasks * log tasks).
std::vector<Difference> largestDifferences(
    const Timeline &predicted, const MeasuredIteration *predictedIteration,
    const Timeline &measured, const MeasuredIteration &iteration, size_t most);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_DIFFERENCES_H
