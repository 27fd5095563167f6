//===- Residency.cpp - L6: it runs with few launches in flight --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/Residency.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>

using namespace rondo;

/// Position in the rank's order.
static int64_t positionOf(const Program &program, int32_t rank, Action action) {
  const ActionRange actions = program.order.rank(rank);
  return std::find(actions.begin(), actions.end(), action) - actions.begin();
}

/// The least limit of launches in flight, larger than the program's, with which
/// the program runs to its end. One exists: a limit of the number of a rank's
/// queues adds no waits to those of rule L2.
static int32_t leastThatRuns(const Problem &problem, const Program &program) {
  int32_t resident = program.resident + 1;
  while (!limitResidency(problem, program.order, resident).empty() &&
         !simulateProgram(problem, program, resident).complete)
    ++resident;
  return resident;
}

std::optional<Fault> rondo::checkResidency(const Problem &problem,
                                           const Program &program) {
  constexpr Rule rule = Rule::Residency;
  if (program.resident <= 0)
    return std::nullopt;
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  if (limitResidency(problem, program.order, program.resident).empty())
    return std::nullopt;
  ProgramSimulation simulation = simulateProgram(problem, program);
  if (simulation.complete)
    return std::nullopt;
  if (simulation.cycle.empty())
    return makeRuleFault<FaultKind::NeverFinishes>(rule);
  const std::vector<Wait> &cycle = simulation.cycle;
  // A launch may wait for an earlier launch on its rank to end (isBehind), and
  // that one for another. Report the last launch of such a chain: the one that
  // it waits for waits for something else. There is none if the cycle consists
  // of sends that L2 lets end early and of their receives.
  const Wait *held = nullptr;
  for (size_t w = 0; w < cycle.size() && !held; ++w)
    if (cycle[w].isBehind && !cycle[(w + 1) % cycle.size()].isBehind)
      held = &cycle[w];
  const bool isHeld = held != nullptr;
  if (!held)
    held = &cycle.front();
  const int64_t position = positionOf(program, held->rank, held->at);
  Fault fault = isHeld
                    ? makeFaultAt<FaultKind::ResidencyCycle>(rule, held->rank,
                                                             position, held->at)
                    : makeFaultAt<FaultKind::ProgramCycle>(rule, held->rank,
                                                           position, held->at);
  return std::move(fault)
      .withOther(held->onRank, positionOf(program, held->onRank, held->needs),
                 held->needs)
      .withFigures(leastThatRuns(problem, program), program.resident)
      .withCycle(std::move(simulation.cycle));
}
