//===- ReferenceOrders.cpp - What the reference and evaluations run -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/ReferenceOrders.h"

#include "schedule/EdgeTable.h"
#include "schedule/PlaceGathers.h"
#include "schedule/Simulator.h"

using namespace rondo;

Problem rondo::sequentialProblem(const Problem &problem) {
  Problem sequential = problem;
  sequential.memoryCaps.assign(1, noMemoryCap);
  for (int32_t home = 0; home < sequential.homes.size(); ++home)
    sequential.homes.moveTo(home, 0);
  sequential.links.clear();
  sequential.cards = {};
  return sequential;
}

Units rondo::unitsOf(const Problem &problem, const Schedule &schedule) {
  Units units(problem.numHomes());
  std::vector<int32_t> made(problem.numHomes(), 0);
  for (Action action : schedule.all()) {
    if (action.traits().makes & weightGradDone)
      ++made[action.subject];
    else if (action.kind() == ActionKind::ReduceGrad)
      units[action.subject].push_back(made[action.subject]);
  }
  return units;
}

Schedule rondo::sequentialSchedule(const Problem &problem, const Units &units) {
  Schedule schedule;
  int32_t homes = problem.numHomes();
  schedule.reserve(int64_t(2) * homes * problem.microbatches);
  // Of each home: gathers, and reductions, so far.
  std::vector<int32_t> gathered(homes, 0), reduced(homes, 0);
  auto whole = [&](int32_t home, auto write) {
    const bool isSharded = problem.homes[home].isSharded();
    if (isSharded)
      schedule.append(Action(ActionKind::Unshard, home, gathered[home]));
    write();
    if (isSharded)
      schedule.append(Action(ActionKind::Reshard, home, gathered[home]++));
  };
  // Of a segment, R of its stages in their order, in front of the backward of
  // the last. By home: the last micro-batch whose R is written so.
  const EdgeTable edges(problem);
  std::vector<int32_t> recomputed(homes, -1);
  auto recomputeSegment = [&](int32_t last, int32_t i) {
    if (!problem.recomputesAcross(last) || recomputed[last] == i)
      return;
    std::vector<bool> isIn(homes);
    isIn[last] = true;
    for (int32_t s = last; s >= 0; --s)
      for (int32_t e : edges.inputs(s, ActionKind::Recompute))
        isIn[problem.edges[e].from] = isIn[problem.edges[e].from] || isIn[s];
    for (int32_t s = 0; s <= last; ++s)
      if (isIn[s] && recomputed[s] < i) {
        schedule.append(Action(ActionKind::Recompute, s, i));
        recomputed[s] = i;
      }
  };
  for (int32_t i = 0; i < problem.microbatches; ++i) {
    for (int32_t s = 0; s < homes; ++s)
      if (problem.homes[s].takes(i))
        whole(s, [&] { schedule.append(Action(ActionKind::Forward, s, i)); });
    for (int32_t s = homes - 1; s >= 0; --s) {
      if (!problem.homes[s].takes(i))
        continue;
      recomputeSegment(s, i);
      whole(s, [&] {
        if (problem.recomputes(s) && recomputed[s] < i)
          schedule.append(Action(ActionKind::Recompute, s, i));
        schedule.append(Action(ActionKind::Backward, s, i));
      });
    }
    // Behind the backwards of all homes of a group.
    for (int32_t s = 0; s < homes; ++s)
      if (problem.homes[s].isSharded() &&
          size_t(reduced[s]) < units[s].size() && units[s][reduced[s]] == i + 1)
        schedule.append(Action(ActionKind::ReduceGrad, s, reduced[s]++));
  }
  schedule.endRank();
  return schedule;
}

Schedule rondo::evaluationSchedule(const Problem &problem) {
  std::vector<std::vector<int32_t>> homesOf(problem.numRanks());
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    homesOf[problem.rankOf(home)].push_back(home);
  Schedule schedule;
  schedule.reserve(int64_t(problem.numHomes()) * problem.microbatches);
  for (const std::vector<int32_t> &homes : homesOf) {
    for (int32_t i = 0; i < problem.microbatches; ++i)
      for (int32_t home : homes)
        if (problem.homes[home].takes(i))
          schedule.append(Action(ActionKind::Forward, home, i));
    schedule.endRank();
  }
  if (!problem.homes.areSharded())
    return schedule;
  // One chunk at a time; for each micro-batch where groups overlap in part.
  Schedule placed = placeGathers(problem, schedule, {{/*weights=*/1, 1}});
  return simulate(problem, placed).complete
             ? placed
             : placeGathers(problem, schedule, {{/*weights=*/0, 1}});
}
