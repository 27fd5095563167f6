//===- TimeUse.h - Breakdown of ranks' time ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_TIMEUSE_H
#define RONDO_SCHEDULE_TIMELINE_TIMEUSE_H

#include "schedule/timeline/Measured.h"
#include "schedule/timeline/Timeline.h"

#include <cstdint>
#include <map>
#include <vector>

namespace rondo {

/// The parts of a rank's time, whose sum is the duration of the iteration.
struct TimeUse {
  /// Tasks (F, I, W, B and R), and optimizer steps.
  int64_t tasksNs = 0, stepsNs = 0;
  /// [other rank]: time spent waiting for its messages to arrive or to be
  /// received.
  std::map<int32_t, int64_t> waitedNs;

  int64_t waitedForAllNs() const;
  /// Time spent issuing and awaiting collectives. In a simulated order, 0
  /// without sharded state.
  int64_t collectivesNs = 0;
  /// Time spent waiting for copies to and from the host; 0 in a measured
  /// iteration.
  int64_t copiesNs = 0;
  /// Time spent handing over messages.
  int64_t messagesNs = 0;
  /// Host time between these; 0 in a simulated order.
  int64_t otherNs = 0;
  /// Time from the end of the rank's last action to the end of the last rank.
  int64_t doneNs = 0;
};

/// [rank]: the use of time in a simulated schedule. O(tasks).
std::vector<TimeUse> timeUse(const Problem &problem, const Timeline &timeline);
/// [rank]: the use of time in a measured iteration. O(events).
std::vector<TimeUse> timeUse(const MeasuredIteration &iteration);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_TIMEUSE_H
