//===- Overlapped.h - Families whose iterations overlap ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_OVERLAPPED_H
#define RONDO_SCHEDULE_FAMILIES_OVERLAPPED_H

#include "schedule/families/Placement.h"

namespace rondo {

/// Appends a fused backward and, in a window of several iterations, the stage's
/// step after the last backward of an iteration.
inline void appendBackward(Schedule &schedule, const Problem &problem,
                           int32_t stage, int64_t microbatch) {
  schedule.append({ActionKind::Backward, stage, microbatch});
  const int64_t each = problem.microbatchesEach();
  if (problem.iterations > 1 && (microbatch + 1) % each == 0)
    schedule.append({ActionKind::Step, stage, microbatch / each});
}

/// 1F1B over all micro-batches of the window, which is drained once, at its
/// end: stage s runs S - s forwards ahead.
inline FamilyResult generateWithoutFlush(const char *family,
                                         const Problem &problem) {
  if (auto fault = needLinearPlacement(family, problem))
    return *fault;
  const int32_t stages = problem.numStages(), last = problem.microbatches;
  Schedule schedule;
  schedule.reserve((int64_t(2) * last + problem.iterations) * stages);
  for (int32_t s = 0; s < stages; ++s) {
    int32_t forward = 0;
    while (forward < std::min(last, stages - s))
      schedule.append({ActionKind::Forward, s, forward++});
    for (int32_t i = 0; i < last; ++i) {
      appendBackward(schedule, problem, s, i);
      if (forward < last)
        schedule.append({ActionKind::Forward, s, forward++});
    }
    schedule.endRank();
  }
  return schedule;
}

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_OVERLAPPED_H
