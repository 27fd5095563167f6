//===- PlanArenas.h - Whether a plan's schedules fit ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANARENAS_H
#define RONDO_PLANNING_PLANARENAS_H

#include "lowering/Lowering.h"
#include "schedule/ArenaLimits.h"

namespace rondo {

/// Schedules with more actions take too long to lower for a choice among many.
inline constexpr int64_t mostActionsToLower = 50000;

/// What programs of the plan allocate, and its devices; both must outlive it.
/// Plans that declare no weights have no arenas.
inline ArenaLimits arenaLimits(const PlanFigures &plan,
                               const Problem &problem) {
  if (!plan.declaresWeights)
    return {};
  return {[&plan, &problem](
              const Schedule &schedule) -> std::optional<std::vector<int64_t>> {
            if (schedule.numActions() > mostActionsToLower)
              return std::nullopt;
            return arenaOf(plan, problem, schedule);
          },
          plan.devices};
}

} // namespace rondo

#endif // RONDO_PLANNING_PLANARENAS_H
