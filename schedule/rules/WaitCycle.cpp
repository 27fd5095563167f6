//===- WaitCycle.cpp - L2: the program runs to its end ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramNames.h"

#include <algorithm>

using namespace rondo;

std::optional<Fault> rondo::checkWaitCycle(const Problem &problem,
                                           const Program &program) {
  constexpr Rule rule = Rule::WaitCycle;
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  ProgramSimulation simulation =
      simulateProgram(problem, program, /*resident=*/0);
  if (simulation.complete)
    return std::nullopt;
  if (simulation.cycle.empty())
    return makeRuleFault<FaultKind::NeverFinishes>(rule);
  const Wait &first = simulation.cycle.front();
  ActionRange actions = program.order.rank(first.rank);
  Fault fault = makeFaultAt<FaultKind::ProgramCycle>(
      rule, first.rank,
      std::find(actions.begin(), actions.end(), first.at) - actions.begin(),
      first.at);
  fault.otherRank = first.onRank;
  fault.other = first.needs;
  ActionRange others = program.order.rank(first.onRank);
  const Action *other = std::find(others.begin(), others.end(), first.needs);
  if (other != others.end())
    fault.otherPosition = other - others.begin();
  fault.cycle = std::move(simulation.cycle);
  return fault;
}
