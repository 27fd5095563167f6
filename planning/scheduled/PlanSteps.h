//===- PlanSteps.h - Small changes of scheduled plans -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_PLANSTEPS_H
#define RONDO_PLANNING_SCHEDULED_PLANSTEPS_H

#include "planning/chain/PlanMoves.h"
#include "planning/scheduled/PlanJudge.h"

#include <functional>

namespace rondo {

/// Whether `a` takes less time than `b`, or equal time with less memory.
inline bool isFaster(const ScheduledPlan &a, const ScheduledPlan &b) {
  return std::pair(a.timeNs, a.memoryBytes) <
         std::pair(b.timeNs, b.memoryBytes);
}

/// Local search of scheduled plans. Deterministic for a seed.
class PlanSteps {
public:
  PlanSteps(const ChainProblem &problem, uint64_t seed);

  /// Returns a plan with its order if that takes less than `ceilingNs`.
  using Judge = std::function<std::optional<ScheduledPlan>(
      const ChainPlan &plan, int64_t ceilingNs)>;

  /// Makes changes that lower the time until none does, or `isOver`; then
  /// exchanges shares of samples between devices of a stage. Returns whether
  /// the time was lowered.
  bool descend(ScheduledPlan &plan, const Judge &judge,
               const std::function<bool()> &isOver);
  /// The plan after a few random changes.
  ChainPlan shaken(const ChainPlan &plan);

private:
  bool improve(ScheduledPlan &plan, const Judge &judge,
               const std::function<bool()> &isOver);
  bool exchange(ScheduledPlan &plan, const Judge &judge,
                const std::function<bool()> &isOver);

  const ChainProblem &problem;
  const PlanMoves changes;
  /// [device]: its place in an order in which neighbours are well connected.
  std::vector<int32_t> place;
  std::mt19937_64 random;
  std::vector<PlanMove> moves;
};

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_PLANSTEPS_H
