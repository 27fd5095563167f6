//===- ScheduledBaselines.h - Schedules of other plans ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_SCHEDULEDBASELINES_H
#define RONDO_PLANNING_SCHEDULED_SCHEDULEDBASELINES_H

#include "planning/chain/Baselines.h"
#include "planning/chain/ChainPlanner.h"

namespace rondo {

/// Plans of baselines, timed as planScheduled() times its own: by the best
/// order of all families and of a search. The baselines are Rondo's plans under
/// evaluators `1f1b` and `spp-full-duplex` with the same options (`rondo-1f1b`
/// and `rondo-spp`), and all published planners, which choose by 1F1B. If no
/// order of a plan fits, it is timed without the memory limit.
std::vector<TimedBaseline>
scheduleBaselines(const ChainProblem &problem,
                  const ChainPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_SCHEDULEDBASELINES_H
