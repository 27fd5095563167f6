//===- PlanSteps.cpp - Small changes of scheduled plans -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/PlanSteps.h"

#include "planning/chain/StartPlans.h"

using namespace rondo;

PlanSteps::PlanSteps(const ChainProblem &problem, uint64_t seed)
    : problem(problem), changes(problem), place(problem.numDevices()),
      random(seed) {
  const std::vector<int32_t> order = deviceOrders(problem).front();
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
}

/// Makes the first change, in random order, that lowers the time.
bool PlanSteps::improve(ScheduledPlan &plan, const Judge &judge,
                        const std::function<bool()> &isOver) {
  const WorkingPlan from(problem, plan.plan);
  moves.clear();
  changes.list(from, moves);
  for (size_t left = moves.size(); left > 0; --left) {
    if (isOver())
      return false;
    // In random order.
    std::swap(moves[random() % left], moves[left - 1]);
    WorkingPlan changed = from;
    moves[left - 1].apply(changed);
    changed.sortDevices(place);
    if (std::optional<ScheduledPlan> better =
            judge(changed.plan(), plan.timeNs)) {
      plan = std::move(*better);
      return true;
    }
  }
  return false;
}

/// Exchanges two devices of a stage if that lowers the time.
bool PlanSteps::exchange(ScheduledPlan &plan, const Judge &judge,
                         const std::function<bool()> &isOver) {
  if (changes.areAllEqual())
    return false;
  for (size_t s = 0; s < plan.plan.size(); ++s)
    for (size_t j = 1; j < plan.plan[s].devices.size(); ++j)
      for (size_t i = 0; i < j; ++i) {
        if (isOver())
          return false;
        ChainPlan changed = plan.plan;
        std::swap(changed[s].devices[i], changed[s].devices[j]);
        if (std::optional<ScheduledPlan> better = judge(changed, plan.timeNs)) {
          plan = std::move(*better);
          return true;
        }
      }
  return false;
}

bool PlanSteps::descend(ScheduledPlan &plan, const Judge &judge,
                        const std::function<bool()> &isOver) {
  bool hasImproved = false;
  while (improve(plan, judge, isOver))
    hasImproved = true;
  while (exchange(plan, judge, isOver))
    hasImproved = true;
  return hasImproved;
}

ChainPlan PlanSteps::shaken(const ChainPlan &plan) {
  // Maximum number of draws: in very small plans, most drawn changes are not
  // possible.
  constexpr int draws = 50;
  WorkingPlan changed(problem, plan);
  int64_t left = 2 + static_cast<int64_t>(random() % 3);
  for (int i = 0; i < draws && left > 0; ++i) {
    PlanMove move;
    if (!changes.draw(changed, random, move))
      continue;
    move.apply(changed);
    --left;
  }
  changed.sortDevices(place);
  return changed.plan();
}
