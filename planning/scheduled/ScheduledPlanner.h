//===- ScheduledPlanner.h - A plan and its schedule -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H
#define RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H

#include "planning/chain/ChainPlanner.h"
#include "planning/scheduled/PlanJudge.h"

namespace rondo {

struct ScheduledPlannerResult {
  /// Figures are under evaluator `rondo`. A `fault` that is not about memory is
  /// the reason why plans of the problem cannot be simulated.
  ChainPlannerResult found;
  /// The plan's problem and schedule; empty without a plan.
  std::optional<ScheduledPlan> scheduled;
};

/// As planChain(), with the time of a plan's best known schedule
/// (PlanProblem.h); ignores `options.evaluator`. Starts from the plans of
/// planChain() under other evaluators and message shares, and from those of
/// quick published planners. Improves the best plans by small changes, each
/// judged by families; and alternates between searching better orders and
/// improving the plan under these. A unit of effort is one unit for each call
/// of planChain(), 20 plans judged, and 1,000 tasks placed or timed in each
/// search of an order. The same seed and effort give the same plan and schedule
/// unless time runs out first.
ScheduledPlannerResult planScheduled(const ChainProblem &problem,
                                     const ChainPlannerOptions &options);

/// The options of each search of an order.
SearchOptions orderSearchOptions(const ChainPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H
