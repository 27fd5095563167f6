//===- ExactPlans.h - Enumeration of all plans ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_EXACTPLANS_H
#define RONDO_PLANNING_CHAIN_EXACTPLANS_H

#include "planning/chain/CostToGo.h"
#include "planning/chain/PlanMoves.h"
#include "planning/chain/PlanTimer.h"

#include <functional>

namespace rondo {

/// Enumerates all plans, stage by stage from the first one. Prunes stages that
/// cannot lead to a better plan than the best so far, by lower bounds from the
/// path latency of a micro-batch and from the work of the longest stage. Equal
/// devices are interchangeable.
class ExactPlans {
public:
  ExactPlans(const ChainProblem &problem, PlanEvaluator evaluator,
             const CostToGo &rest);

  struct Result {
    /// A plan that takes less than the known time; empty if none was found.
    ChainPlan plan;
    int64_t timeNs = infinite;
    /// Whether the search is complete: no plan is better than the known one and
    /// `plan`.
    bool isComplete = false;
    int64_t stagesTried = 0;
  };
  /// Searches plans that take less than `knownNs` and fit memory. Ends
  /// incomplete after `maxStages` stages, or if `isOver`.
  Result find(int64_t knownNs, int64_t maxStages,
              const std::function<bool()> &isOver);

private:
  /// A stage, and the path latencies before it.
  struct Stage {
    int32_t first = 0, end = 0;
    std::vector<int32_t> devices;
    GroupDevice weakest;
    /// Path latency of a micro-batch to the stage, back from it, and their sum.
    int64_t both = 0, there = 0, back = 0;
    StageNs ns;
  };
  bool place(int32_t depth, int32_t devicesLeft);
  bool choose(int32_t depth, size_t nextClass, int32_t devicesLeft);
  bool extend(int32_t depth, int32_t devicesLeft);
  bool mayBeBetter(const Stage &stage, int32_t devicesLeft) const;
  void judge(int32_t stages);

  const ChainProblem &problem;
  const PlanEvaluator evaluator;
  const ChainCosts costs;
  const CostToGo &rest;
  PlanTimer timer;
  /// Devices by class of equal devices, and the number of each class in use:
  /// the first ones.
  std::vector<std::vector<int32_t>> classes;
  std::vector<int32_t> inUse;
  std::vector<Stage> stages;
  std::vector<StageNs> times;
  Result best;
  int64_t knownNs = 0, stagesLeft = 0;
  const std::function<bool()> *isOver = nullptr;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_EXACTPLANS_H
