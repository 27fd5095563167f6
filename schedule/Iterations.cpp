//===- Iterations.cpp - Schedules over several iterations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Iterations.h"

#include "schedule/Repeating.h"
#include "schedule/Simulator.h"

using namespace rondo;

std::optional<Fault> rondo::checkIterations(const Problem &problem) {
  if (problem.iterations < 1 ||
      problem.microbatches % problem.iterations != 0) {
    return makeFault<FaultKind::UnevenIterations>(problem.microbatches,
                                                  problem.iterations);
  }
  for (const Home &home : problem.homes)
    if (problem.iterations > 1 && home.isDealt())
      return makeFault<FaultKind::DealtIterations>(home.stage,
                                                   problem.iterations);
  if (!problem.versions.empty() &&
      problem.versions.size() != size_t(problem.numStages()))
    return makeFault<FaultKind::PolicyCount>(problem.versions.size(),
                                             problem.numStages());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const VersionPolicy policy = problem.policyOf(stage);
    if (policy.activations == BackwardActivations::Stashed &&
        policy.backward != BackwardWeights::Stashed)
      return makeFault<FaultKind::StashedActivations>(stage,
                                                      wordOf(policy.backward));
    if (policy.activations == BackwardActivations::Extrapolated &&
        policy.backward != BackwardWeights::Extrapolated)
      return makeFault<FaultKind::ExtrapolatedActivations>(
          stage, wordOf(policy.backward));
    if (policy.mostDelay < 0)
      return makeFault<FaultKind::DelayBelowZero>(stage).withFigures(
          policy.mostDelay, 0);
  }
  return std::nullopt;
}

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
  Problem window = problem;
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
  window.reserve((order.numActions() + (hasSteps ? 0 : problem.numHomes())) *
                 problem.iterations);
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    for (int64_t t = 0; t < problem.iterations; ++t) {
      for (Action action : order.rank(r))
        window.append(laterBy(t, action, each));
      for (int32_t home = 0; !hasSteps && home < problem.numHomes(); ++home)
        if (problem.rankOf(home) == r)
          window.append(Action(ActionKind::Step, home, t));
    }
    window.endRank();
  }
  for (const auto &[link, messages] : order.linkOrders)
    for (int64_t t = 0; t < problem.iterations; ++t)
      for (Action action : messages)
        window.linkOrders[link].push_back(laterBy(t, action, each));
  return window;
}

int64_t rondo::settledIterationNs(const Problem &window,
                                  const Schedule &schedule) {
  const Simulation simulation = simulate(window, schedule, /*keepTimes=*/true);
  std::vector<int64_t> stepNs(window.iterations, 0);
  for (int64_t i = 0; i < schedule.numActions(); ++i) {
    const Action action = schedule.rank(0).begin()[i];
    if (action.kind() == ActionKind::Step &&
        int64_t(action.subject) == window.numHomes() - 1)
      stepNs[action.index] = simulation.endNs[i];
  }
  const int32_t first = window.iterations / 4,
                last = window.iterations - 1 - first;
  return last > first ? (stepNs[last] - stepNs[first]) / (last - first) : 0;
}

Problem rondo::inSlots(const Problem &problem) {
  Problem slots = problem;
  slots.countsOnce = true;
  slots.makeMessagesFree();
  for (int32_t home = 0; home < slots.numHomes(); ++home)
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.hasCost() && !traits.movesState() &&
          (traits.kind != ActionKind::Recompute || slots.recomputes(home)))
        slots.cost(home, traits.kind).ns = traits.isTask() ? 1 : 0;
  return slots;
}
