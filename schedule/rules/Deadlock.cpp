//===- Deadlock.cpp - S4: no wait cycle -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/RunToEnd.h"

using namespace rondo;

std::optional<Fault> rondo::runToEnd(const Problem &problem,
                                     const Schedule &schedule, bool keepTimes,
                                     Simulation &simulation) {
  simulation = simulate(problem, schedule, keepTimes);
  if (simulation.complete)
    return std::nullopt;
  Fault fault = makeRuleFault<FaultKind::Cycle>(Rule::Deadlock)
                    .withCycle(simulation.cycle);
  if (simulation.cycle.empty())
    return fault;
  const Wait &first = simulation.cycle.front();
  return std::move(fault)
      .withRank(first.rank)
      .withAction(first.at)
      .withOther(first.onRank, -1, first.needs);
}

std::optional<Fault> rondo::checkDeadlock(const Problem &problem,
                                          const Schedule &schedule) {
  Simulation simulation;
  return runToEnd(problem, schedule, /*keepTimes=*/false, simulation);
}
