//===- ExposedCommunication.cpp - Delays from messages --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/ExposedCommunication.h"

#include "lowering/Communication.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/order/Shards.h"
#include "schedule/program/ProgramSimulator.h"

using namespace rondo;

static std::optional<int64_t> makespanOf(const Problem &problem,
                                         const Program &program) {
  ProgramSimulation run = simulateProgram(problem, program);
  if (!run.complete)
    return std::nullopt;
  return run.makespanNs;
}

ExposedCommunication rondo::measureCommunication(const Problem &problem,
                                                 const Schedule &schedule,
                                                 const Simulation &simulation) {
  // Only messages are measured; gathers and reductions are not messages.
  if (problem.replicas.areSharded()) {
    const Problem whole = withWholeState(problem);
    const Schedule tasks = withoutMoves(schedule);
    return measureCommunication(whole, tasks,
                                simulate(whole, tasks, /*keepTimes=*/true));
  }
  ExposedCommunication result;
  Problem other = problem;
  other.makeMessagesFree();
  result.freeNs = simulate(other, schedule).makespanNs;
  const Program own = insertCommunication(problem, schedule, simulation, {});
  result.perPairNs = makespanOf(problem, own);
  other = problem;
  other.channels = {};
  other.channels.queues = Queues::PerRank;
  result.ownPerRankNs = makespanOf(other, own);
  result.perRankNs =
      makespanOf(other, insertCommunicationInRounds(problem, schedule));
  return result;
}
