//===- LinearOrders.h - Orders of one stage per rank ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_LINEARORDERS_H
#define RONDO_SCHEDULE_FAMILIES_LINEARORDERS_H

#include "schedule/families/Placement.h"

#include <algorithm>

namespace rondo {

/// The schedule in which `append(schedule, stage)` appends the order of each
/// stage: `tasksEach` tasks per micro-batch, and steps. A fault if the
/// placement is not linear.
template <typename Append>
FamilyResult orderStages(const char *family, const Problem &problem,
                         int64_t tasksEach, const Append &append) {
  if (auto fault = needLinearPlacement(family, problem))
    return *fault;
  const int32_t stages = problem.numStages();
  Schedule schedule;
  schedule.reserve((tasksEach * problem.microbatches + problem.iterations) *
                   stages);
  for (int32_t s = 0; s < stages; ++s) {
    append(schedule, s);
    schedule.endRank();
  }
  return schedule;
}

/// Appends a fused backward and, in a window of several iterations, the stage's
/// step after the last backward of an iteration.
inline void appendBackward(Schedule &schedule, const Problem &problem,
                           int32_t stage, int64_t microbatch) {
  schedule.append({ActionKind::Backward, stage, microbatch});
  if (problem.iterations == 1)
    return;
  const int64_t each = problem.microbatchesEach();
  if ((microbatch + 1) % each == 0)
    schedule.append({ActionKind::Step, stage, microbatch / each});
}

/// 1F1B, which a window of several iterations drains once, at its end. A stage
/// first runs one forward and `aheadEach` more for every later stage, then one
/// backward and one forward alternately, then the remaining backwards.
inline FamilyResult oneForwardOneBackward(const char *family,
                                          const Problem &problem,
                                          int32_t aheadEach = 1) {
  return orderStages(family, problem, 2, [&](Schedule &schedule, int32_t s) {
    const int32_t last = problem.microbatches,
                  later = problem.numStages() - 1 - s;
    int32_t forward = 0;
    while (forward < std::min(last, aheadEach * later + 1))
      schedule.append({ActionKind::Forward, s, forward++});
    for (int32_t i = 0; i < last; ++i) {
      appendBackward(schedule, problem, s, i);
      if (forward < last)
        schedule.append({ActionKind::Forward, s, forward++});
    }
  });
}

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_LINEARORDERS_H
