//===- ScheduledPlanner.h - A plan and its schedule -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H
#define RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H

#include "planning/chain/ChainPlanner.h"
#include "planning/scheduled/PlanJudge.h"

namespace rondo {

struct ScheduledPlannerResult {
  /// With figures under evaluator `rondo`. A `fault` other than one of memory
  /// says why plans of the problem cannot be simulated.
  ChainPlannerResult found;
  /// The plan's problem and schedule; empty without a plan.
  std::optional<ScheduledPlan> scheduled;
};

/// As planChain(), where a plan's time is that of its best known schedule
/// (PlanProblem.h); `options.evaluator` is not looked at. Starts from the plans
/// that planChain() finds under other evaluators and with other shares of
/// messages, and from those of quick published planners; improves the best by
/// small changes, each judged by a few families; and searches better orders,
/// under which the plan is improved again, in turns. A unit of effort is as
/// much for each call of planChain(), 20 plans judged, and 1,000 tasks placed
/// or timed in each search of an order. The same seed and effort give the same
/// plan and schedule unless time runs out first.
ScheduledPlannerResult planScheduled(const ChainProblem &problem,
                                     const ChainPlannerOptions &options);

/// How long the planner searches each order.
SearchOptions orderSearchOptions(const ChainPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_SCHEDULEDPLANNER_H
