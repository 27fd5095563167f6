//===- ListScheduler.h - Orders chosen by a clock ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H
#define RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <functional>
#include <optional>

namespace rondo {

/// How many micro-batches, counted from 0, have what they need; by stage.
struct Arrivals {
  /// Inputs of F.
  std::vector<int32_t> forward;
  /// Output gradients of I or B.
  std::vector<int32_t> backward;
};

struct ListTimes {
  std::function<int64_t(Action)> taskNs;
  /// From the end of a task to the arrival of its message.
  std::function<int64_t(const Edge &)> messageNs;
};

/// What rank r starts when it becomes free, or nothing until something arrives.
/// Every stage must take its micro-batches in order.
using ListRule =
    std::function<std::optional<Action>(int32_t rank, const Arrivals &)>;

/// Runs a clock and lets `rule` choose whenever a rank is free. All events of
/// one instant are seen before a choice. O(n log n) for n tasks.
Schedule listSchedule(const Problem &problem, const ListTimes &times,
                      const ListRule &rule);

/// The cost of that, for the table.
int64_t stepsOfListSchedule(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_LISTSCHEDULER_H
