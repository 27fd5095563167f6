//===- ChainPlanner.h - Finds a plan for a chain of layers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_CHAINPLANNER_H
#define RONDO_PLANNING_CHAIN_CHAINPLANNER_H

#include "planning/chain/PlanTimer.h"
#include "schedule/search/Search.h"

namespace rondo {

struct ChainPlannerOptions {
  PlanEvaluator evaluator = PlanEvaluator::OneFOneB;
  uint64_t seed = 0;
  /// Time in ms since the call; 0: no limit. Checked every few ms.
  int64_t timeLimitMs = 1000;
  /// Work in units of 1,000 plans that are timed; 0: `defaultEffort`. The same
  /// seed and effort give the same plan unless time runs out first.
  int64_t effort = 0;
  /// The clock of `timeLimitMs`, in seconds since any fixed time; null: wall
  /// time.
  double (*clock)() = nullptr;
  /// Set to end the search with the best plan so far.
  const std::atomic<bool> *interrupt = nullptr;

  static constexpr int64_t defaultEffort = 1000;
  int64_t statedEffort() const { return effort > 0 ? effort : defaultEffort; }
};

struct ChainPlannerResult {
  /// Empty if no plan fits the devices' memory. `fault` has the missing memory,
  /// and whether this is proven, as it is for devices of equal memory.
  std::optional<ChainPlan> plan;
  std::optional<Fault> fault;
  int64_t timeNs = 0;
  /// Memory of the fullest device; and WorkingPlan::neededBytes().
  int64_t memoryBytes = 0, neededBytes = 0;
  /// A lower bound for all plans. Equals timeNs if the plan is proven optimal.
  int64_t lowerBoundNs = 0;
  SearchStop stop = SearchStop::Exhausted;
  int64_t plansTried = 0;
};

/// Cuts the layers into stages and assigns devices so that an iteration takes
/// the least time by the evaluator. Starts from plans of equal work, from quick
/// published planners, and from a dynamic program over several orders of the
/// devices (LatencyProgram). Proves a bound (PlanBound), enumerates all plans
/// if they are few (ExactPlans), and improves the best plans by small changes
/// (PlanWalk).
ChainPlannerResult planChain(const ChainProblem &problem,
                             const ChainPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_CHAINPLANNER_H
