//===- PlanWalk.h - Local search of plans -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_PLANWALK_H
#define RONDO_PLANNING_CHAIN_PLANWALK_H

#include "planning/chain/PlanMoves.h"
#include "planning/chain/PlanTimer.h"

#include <functional>

namespace rondo {

/// A plan and its cost.
struct CostedPlan {
  WorkingPlan plan;
  /// The time in ns; if the plan does not fit memory, `overMemory` plus the
  /// missing memory in KiB.
  int64_t cost = infinite;
};

/// Local search of plans by small changes. Deterministic for a seed, unless a
/// time limit ends it.
class PlanWalk {
public:
  /// `order`: all devices; a stage that is split divides its devices in this
  /// order.
  PlanWalk(const ChainProblem &problem, PlanEvaluator evaluator,
           const std::vector<int32_t> &order, uint64_t seed);

  static constexpr int64_t overMemory = int64_t(1) << 62;

  /// The cost is infinite if it certainly exceeds `ceiling`.
  CostedPlan costed(const ChainPlan &plan, int64_t ceiling = infinite);
  /// Makes changes that lower the cost until none does, or `isOver`.
  void descend(CostedPlan &plan, const std::function<bool()> &isOver);
  /// Simulated annealing: accepts a higher cost less often as `progress()` goes
  /// from 0 to 1. Sets the plan to the best one found.
  void anneal(CostedPlan &plan, const std::function<double()> &progress);
  /// The number of plans costed so far.
  int64_t plansTried() const { return tried; }

private:
  int64_t cost(WorkingPlan &plan, int64_t ceiling);

  const ChainProblem &problem;
  const ChainCosts costs;
  const PlanMoves changes;
  PlanTimer timer;
  std::vector<int32_t> place;
  std::mt19937_64 random;
  int64_t tried = 0;
  WorkingPlan changed;
  std::vector<StageNs> times;
  std::vector<PlanMove> moves;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANWALK_H
