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
  Fault fault = makeRuleFault<FaultKind::Cycle>(Rule::Deadlock);
  fault.cycle = simulation.cycle;
  if (!simulation.cycle.empty()) {
    fault.rank = simulation.cycle[0].rank;
    fault.action = simulation.cycle[0].at;
    fault.otherRank = simulation.cycle[0].onRank;
    fault.other = simulation.cycle[0].needs;
  }
  return fault;
}

std::optional<Fault> rondo::checkDeadlock(const Problem &problem,
                                          const Schedule &schedule) {
  Simulation simulation;
  return runToEnd(problem, schedule, /*keepTimes=*/false, simulation);
}
