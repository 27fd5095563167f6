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

struct ListTimes {
  std::function<int64_t(Action)> taskNs;
  /// Time in ns from the end of a task to the arrival of its message.
  std::function<int64_t(const Edge &)> messageNs;
};

/// Returns the task that `rank` starts when it is free, or nothing, to wait for
/// the next arrival. Every stage must take its micro-batches in order.
using ListRule =
    std::function<std::optional<Action>(int32_t rank, const Arrivals &)>;

/// Simulates a clock and calls `rule` whenever a rank is free, after all events
/// of the same instant. O(n log n) for n tasks.
Schedule listSchedule(const Problem &problem, const ListTimes &times,
                      const ListRule &rule);

/// Family::extraSteps of listSchedule().
int64_t stepsOfListSchedule(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H
