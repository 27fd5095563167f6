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

/// The least number of launches in flight, above the program's, with which it
/// runs to its end. One exists: with as many as a rank has queues, the limit
/// adds no waits to those of L2.
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
  // In a chain of launches that wait for each other to leave, the last one
  // waits for something else: report that one. None exists if the cycle
  // consists of sends that L2 lets end early and of their receives.
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
