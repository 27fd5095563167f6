//===- ListScheduler.h - List scheduling with a clock -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H
#define RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <functional>
#include <optional>

namespace rondo {

/// [stage]: number of micro-batches, counted from 0, whose inputs have arrived.
struct Arrivals {
  /// Inputs of F.
  std::vector<int32_t> forward;
  /// Output gradients of I or B.
  std::vector<int32_t> backward;
};

/// The times of a message: it occupies its link, which carries one at a time,
/// for `occupancyNs`, and arrives `latencyNs` after it has left the link.
struct MessageTimes {
  int64_t occupancyNs = 0, latencyNs = 0;
};

struct ListTimes {
  std::function<int64_t(Action)> taskNs;
  /// Times of the message that a task sends over an edge, also within a rank.
  std::function<MessageTimes(const Edge &, Action)> message;
  /// Time for which a rank stays busy after a task has sent its messages;
  /// unset: 0.
  std::function<int64_t(Action)> restNs{};
};

/// Returns the task that rank r starts when it becomes free, or nothing to wait
/// for the next arrival. May depend on the rank's own stages only, each of
/// which must take its micro-batches in order. A backward may serve several of
/// them.
using ListRule =
    std::function<std::optional<Action>(int32_t rank, const Arrivals &)>;

/// Runs a clock and lets `rule` choose whenever a rank is free. All events of
/// one instant are seen before a choice. NICs are left out. O(n log n)
/// for n tasks.
Schedule listSchedule(const Problem &problem, const ListTimes &times,
                      const ListRule &rule);

/// Family::extraSteps of listSchedule().
int64_t stepsOfListSchedule(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H
