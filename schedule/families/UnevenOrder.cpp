//===- UnevenOrder.cpp - Families if micro-batches differ -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/UnevenOrder.h"

#include "schedule/lists/RankLists.h"
#include "schedule/model/Infinity.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Objective.h"

#include <limits>

using namespace rondo;

/// The schedule with micro-batch order[i] in place of i.
static Schedule permuted(const Schedule &schedule,
                         const std::vector<int32_t> &order) {
  Schedule result;
  result.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r)) {
      if (action.isTask())
        action.index = static_cast<uint64_t>(order[action.index]);
      result.append(action);
    }
    result.endRank();
  }
  if (!isIndexOrder(order))
    result.accumulation = order;
  return result;
}

/// Delays F of ranks that exceed their caps, unless ranks would then wait for
/// each other. Schedules with fused and split
/// backwards of one problem, counts or steps stay as they are.
static void fitToCaps(const Problem &problem, Schedule &schedule) {
  for (const bool isFused : {false, true}) {
    const std::optional<TaskGraph> graph = makeTaskGraph(problem, isFused);
    RankLists lists;
    if (!graph || !readLists(*graph, schedule, lists))
      continue;
    Legalizer legalizer(*graph, OrderClass::Perm);
    for (int32_t r = 0; r < graph->ranks; ++r)
      legalizer.legalize(lists, r, Overflow::Defer);
    ListTimer timer(*graph);
    for (int32_t r = 0; r < graph->ranks; ++r)
      timer.derive(lists, r);
    if (timer.run(lists) == infinite)
      return;
    std::vector<int32_t> accumulation = std::move(schedule.accumulation);
    schedule = toSchedule(*graph, lists);
    schedule.accumulation = std::move(accumulation);
    return;
  }
}

FamilyResult rondo::generateUneven(const FamilyChoice &choice,
                                   const Problem &problem) {
  const std::string family = choice.family->name;
  if (problem.iterations > 1)
    return makeFault<FaultKind::OrderOfWindow>(family, problem.iterations);
  if (choice.order != FamilyOrder::Given)
    for (const Replica &replica : problem.replicas)
      if (replica.isRoundRobin())
        return makeFault<FaultKind::OrderOfRoundRobin>(
            family, familyOrderWords[static_cast<int>(choice.order)],
            replica.stage);
  // A family sees typical costs.
  Problem typical = problem;
  typical.unevenCosts.clear();
  typical.unevenBytes.clear();
  FamilyChoice places = choice;
  places.order = FamilyOrder::Given;
  const FamilyResult base = generate(places, typical);
  if (!base)
    return base;
  auto inOrder = [&](LengthOrder order) {
    Schedule schedule = permuted(*base, orderByLength(problem, order));
    if (checkMemory(problem, schedule))
      fitToCaps(problem, schedule);
    return schedule;
  };
  if (choice.order != FamilyOrder::Best)
    return inOrder(static_cast<LengthOrder>(choice.order));
  std::optional<Schedule> best;
  int64_t bestNs = std::numeric_limits<int64_t>::max();
  for (LengthOrder order : allLengthOrders) {
    Schedule schedule = inOrder(order);
    Simulation simulation;
    if (checkAndSimulate(problem, schedule, simulation))
      continue;
    if (const int64_t ns = objectiveOf(problem, simulation); ns < bestNs) {
      bestNs = ns;
      best = std::move(schedule);
    }
  }
  return best ? std::move(*best) : inOrder(LengthOrder::Given);
}
