//===- TimeUse.h - What ranks do with the time of an iteration --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_TIMEUSE_H
#define RONDO_SCHEDULE_TIMELINE_TIMEUSE_H

#include "schedule/timeline/Measured.h"
#include "schedule/timeline/Timeline.h"

#include <cstdint>
#include <map>
#include <vector>

namespace rondo {

/// The parts of a rank's time, which add up to the iteration's.
struct TimeUse {
  /// F, I, W, B and R; optimizer steps.
  int64_t tasksNs = 0, stepsNs = 0;
  /// By rank that was waited for: for its messages to arrive, or to be taken.
  std::map<int32_t, int64_t> waitedNs;

  int64_t waitedForAllNs() const;
  /// Issuing and awaiting collectives, which a simulated order has only where
  /// the state of stages is sharded.
  int64_t collectivesNs = 0;
  /// Handing over messages.
  int64_t messagesNs = 0;
  /// The host between these; of a simulated order, nothing.
  int64_t otherNs = 0;
  /// After its last action, until the last rank ends.
  int64_t doneNs = 0;
};

/// By rank, of a simulated schedule. O(tasks).
std::vector<TimeUse> timeUse(const Problem &problem, const Timeline &timeline);
/// By rank, as measured. O(events).
std::vector<TimeUse> timeUse(const MeasuredIteration &iteration);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_TIMEUSE_H
