//===- Iterations.cpp - Schedules over several iterations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/transforms/Iterations.h"

#include "schedule/order/Repeating.h"
#include "schedule/simulate/Simulator.h"

using namespace rondo;

Problem rondo::oneIteration(const Problem &problem) {
  Problem one = problem;
  one.microbatches = problem.microbatchesEach();
  one.iterations = 1;
  return one;
}

Result<Problem> rondo::overIterations(const Problem &problem,
                                      int64_t iterations) {
  const int64_t each = problem.microbatchesEach();
  if (iterations > maxMicrobatches / each)
    return makeFault<FaultKind::SizeOutOfRange>("iterations")
        .withFigures(iterations, maxMicrobatches / each);
  // Copies end with their iteration.
  Problem window = iterations > 1 ? problem.withoutCopies() : problem;
  window.iterations = static_cast<int32_t>(iterations);
  window.microbatches = static_cast<int32_t>(each * iterations);
  if (std::optional<Fault> fault = window.check())
    return std::move(*fault);
  return window;
}

Schedule rondo::repeatOrder(const Problem &problem, const Schedule &order) {
  const int64_t each = problem.microbatchesEach();
  const bool hasSteps = order.hasSteps();
  Schedule window;
  window.reserve((order.numActions() + (hasSteps ? 0 : problem.numReplicas())) *
                 problem.iterations);
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    for (int64_t t = 0; t < problem.iterations; ++t) {
      for (Action action : order.rank(r))
        window.append(laterBy(t, action, each));
      for (int32_t replica = 0; !hasSteps && replica < problem.numReplicas();
           ++replica)
        if (problem.rankOf(replica) == r)
          window.append(Action(ActionKind::Step, replica, t));
    }
    window.endRank();
  }
  for (const auto &[link, messages] : order.linkOrders)
    for (int64_t t = 0; t < problem.iterations; ++t)
      for (Action action : messages)
        window.linkOrders[link].push_back(laterBy(t, action, each));
  return window;
}

Problem rondo::inSlots(const Problem &problem) {
  Problem slots = problem;
  slots.countsOnce = true;
  slots.makeMessagesFree();
  for (int32_t replica = 0; replica < slots.numReplicas(); ++replica)
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.hasCost() && !traits.movesState() &&
          (traits.kind != ActionKind::Recompute || slots.recomputes(replica)))
        slots.cost(replica, traits.kind).ns = traits.isTask() ? 1 : 0;
  return slots;
}
