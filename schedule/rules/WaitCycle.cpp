//===- WaitCycle.cpp - L2: the program runs to its end ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/EqualMicrobatches.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>

using namespace rondo;

static ProgramSimulation run(const Problem &problem, const Program &program) {
  return simulateProgram(problem, program, /*resident=*/0, /*keepTimes=*/false);
}

/// Whether the program has a single rank with the same actions for each
/// micro-batch, and runs to its end with the first micro-batch alone. Then it
/// also does with all.
static bool runsWithFirst(const Problem &problem, const Program &program) {
  if (program.order.numRanks() != 1 || problem.iterations > 1)
    return false;
  const ActionRange actions = program.order.rank(0);
  const ActionRange first =
      firstOfEqualMicrobatches(actions, problem.microbatches);
  if (first.empty())
    return false;
  Problem ofFirst = problem;
  ofFirst.microbatches = 1;
  Program shorter;
  shorter.collectives = program.collectives;
  for (Action action : first)
    shorter.order.append(action);
  for (int64_t i = first.size() * problem.microbatches; i < actions.size(); ++i)
    shorter.order.append(actions[i]);
  shorter.order.endRank();
  return run(ofFirst, shorter).complete;
}

/// The least number of receive slots with which a deadlocked program runs to
/// its end; 0 if no number suffices.
static int32_t slotsThatRun(const Problem &problem, const Program &program) {
  Problem with = problem;
  auto runs = [&](int32_t slots) {
    with.channels.receiveSlots = slots;
    return run(with, program).complete;
  };
  const int32_t few = problem.channels.receiveSlots;
  constexpr int32_t maxSlots = 1 << 20;
  if (few == 0 || few > maxSlots || !runs(0))
    return 0;
  // More slots never make a rank wait longer.
  int32_t low = few, high = few;
  do {
    low = high;
    high *= 2;
  } while (high <= maxSlots && !runs(high));
  if (high > maxSlots)
    return 0;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (runs(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<Fault> rondo::checkWaitCycle(const Problem &problem,
                                           const Program &program) {
  constexpr Rule rule = Rule::WaitCycle;
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  if (runsWithFirst(problem, program))
    return std::nullopt;
  ProgramSimulation simulation = run(problem, program);
  if (simulation.complete)
    return std::nullopt;
  if (simulation.cycle.empty())
    return makeRuleFault<FaultKind::NeverFinishes>(rule);
  const Wait &first = simulation.cycle.front();
  ActionRange actions = program.order.rank(first.rank);
  const int64_t position =
      std::find(actions.begin(), actions.end(), first.at) - actions.begin();
  const ActionRange others = program.order.rank(first.onRank);
  const Action *other = std::find(others.begin(), others.end(), first.needs);
  const int32_t slots = slotsThatRun(problem, program);
  Fault fault = slots > 0 ? makeFaultAt<FaultKind::ReceiveSlotsCycle>(
                                rule, first.rank, position, first.at, slots)
                                .withFigures(0, problem.channels.receiveSlots)
                          : makeFaultAt<FaultKind::ProgramCycle>(
                                rule, first.rank, position, first.at);
  return std::move(fault)
      .withOther(first.onRank,
                 other != others.end() ? other - others.begin() : -1,
                 first.needs)
      .withCycle(simulation.cycle);
}

std::optional<Fault> rondo::checkWaitCycle(const Problem &problem,
                                           const Program &program,
                                           Queues queues) {
  Problem queued = problem;
  queued.channels = {Protocol::Rendezvous, /*receiveSlots=*/0, queues};
  return checkWaitCycle(queued, program);
}
