//===- PlanArenas.h - Whether a plan's schedules fit ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANARENAS_H
#define RONDO_PLANNING_PLANARENAS_H

#include "lowering/Lowering.h"
#include "schedule/gathers/ArenaLimits.h"

namespace rondo {

/// Schedules with more actions take too long to lower for a choice among many.
inline constexpr int64_t maxActionsToLower = 50000;
/// And those with more than this too long for a choice at all.
inline constexpr int64_t maxActionsToLowerOnce = int64_t(1) << 20;

/// What programs of the plan allocate, whether they run, and its devices; both
/// must outlive it. Plans that declare no weights have no arenas.
inline ArenaLimits arenaLimits(const PlanFigures &plan,
                               const Problem &problem) {
  if (!plan.declaresWeights)
    return {};
  ArenaLimits limits;
  auto upTo = [&plan, &problem](int64_t most) {
    return
        [&plan, &problem, most](
            const Schedule &schedule) -> std::optional<std::vector<int64_t>> {
          if (schedule.numActions() > most)
            return std::nullopt;
          return arenaOf(plan, problem, schedule);
        };
  };
  limits.arenaOf = upTo(maxActionsToLower);
  limits.arenaOfOne = upTo(maxActionsToLowerOnce);
  if (mayBlock(plan, problem))
    limits.runs = [&plan, &problem](const Schedule &schedule) {
      return schedule.numActions() > maxActionsToLower ||
             !findBlocked(plan, problem, schedule);
    };
  limits.devices = plan.devices;
  return limits;
}

} // namespace rondo

#endif // RONDO_PLANNING_PLANARENAS_H
