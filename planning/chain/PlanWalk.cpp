//===- PlanWalk.cpp - Local search of plans -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanWalk.h"

#include "schedule/search/Random.h"

using namespace rondo;

PlanWalk::PlanWalk(const ChainProblem &problem, PlanEvaluator evaluator,
                   const std::vector<int32_t> &order, uint64_t seed)
    : problem(problem), costs(problem), changes(problem),
      timer(problem, evaluator), place(order.size()), random(seed) {
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
}

int64_t PlanWalk::cost(WorkingPlan &plan, int64_t ceiling) {
  ++tried;
  if (problem.memoryBytes > 0) {
    const int64_t bytes = plan.neededBytes(problem, costs);
    if (bytes > problem.memoryBytes)
      return overMemory + (bytes - problem.memoryBytes) / 1024;
  }
  plan.times(problem, costs, times);
  return timer.run(times, ceiling);
}

CostedPlan PlanWalk::costed(const ChainPlan &plan, int64_t ceiling) {
  CostedPlan result;
  result.plan = WorkingPlan(problem, plan);
  result.cost = cost(result.plan, ceiling);
  return result;
}

void PlanWalk::descend(CostedPlan &best, const std::function<bool()> &isOver) {
  for (bool hasImproved = true; hasImproved;) {
    hasImproved = false;
    best.plan.sortDevices(place);
    moves.clear();
    changes.list(best.plan, moves);
    for (size_t left = moves.size(); left > 0 && !hasImproved; --left) {
      if (left % 16 == 0 && isOver())
        return;
      // In random order.
      std::swap(moves[random() % left], moves[left - 1]);
      changed = best.plan;
      moves[left - 1].apply(changed);
      const int64_t now = cost(changed, best.cost - 1);
      if (now >= best.cost)
        continue;
      std::swap(best.plan, changed);
      best.cost = now;
      hasImproved = true;
    }
  }
}

void PlanWalk::anneal(CostedPlan &best,
                      const std::function<double()> &progress) {
  // The fraction of the cost by which a plan may be worse, at the beginning. It
  // falls in `coolings` steps to 0.0005. No library computes it, since plans
  // are the same on all machines.
  constexpr double hot = 0.03, coolingFactor = 0.938029;
  constexpr int32_t coolings = 64;
  CostedPlan at = best;
  double temperature = hot;
  int32_t cooled = 0;
  for (int64_t step = 0;; ++step) {
    if (step % 64 == 0) {
      const double part = progress();
      if (part >= 1)
        return;
      for (; cooled < coolings * part; ++cooled)
        temperature *= coolingFactor;
    }
    PlanMove move;
    if (!changes.draw(at.plan, random, move))
      continue;
    const double drawn = Random::exponentialOf(random());
    // While the plan exceeds memory, accepts only improvements.
    int64_t most = at.cost - 1;
    if (at.cost < overMemory)
      most = static_cast<int64_t>(static_cast<double>(at.cost) *
                                  (1 + temperature * drawn));
    changed = at.plan;
    move.apply(changed);
    const int64_t now = cost(changed, most);
    if (now > most)
      continue;
    std::swap(at.plan, changed);
    at.cost = now;
    if (at.cost < best.cost)
      best = at;
  }
}
