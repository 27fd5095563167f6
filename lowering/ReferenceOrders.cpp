//===- ReferenceOrders.cpp - Orders of reference and evaluation -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/ReferenceOrders.h"

#include "schedule/gathers/PlaceGathers.h"
#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Simulator.h"

using namespace rondo;

Problem rondo::sequentialProblem(const Problem &problem) {
  Problem sequential = problem.withoutCopies();
  sequential.memoryCaps.assign(1, noMemoryCap);
  for (int32_t replica = 0; replica < sequential.replicas.size(); ++replica)
    sequential.replicas.moveTo(replica, 0);
  sequential.links.clear();
  sequential.nics = {};
  return sequential;
}

Units rondo::unitsOf(const Problem &problem, const Schedule &schedule) {
  Units units(problem.numReplicas());
  std::vector<int32_t> made(problem.numReplicas(), 0);
  for (Action action : schedule.all()) {
    if (action.traits().makes & weightGradDone)
      ++made[action.subject];
    else if (action.kind() == ActionKind::ReduceGrad)
      units[action.subject].push_back(made[action.subject]);
  }
  return units;
}

Schedule rondo::sequentialSchedule(const Problem &problem, const Units &units,
                                   const std::vector<int32_t> &order) {
  Schedule schedule;
  int32_t replicas = problem.numReplicas();
  schedule.reserve(int64_t(2) * replicas * problem.microbatches);
  // [replica]: gathers and reductions so far.
  std::vector<int32_t> gathered(replicas, 0), reduced(replicas, 0);
  auto whole = [&](int32_t replica, auto write) {
    const bool isSharded = problem.replicas[replica].isSharded();
    if (isSharded)
      schedule.append(Action(ActionKind::Unshard, replica, gathered[replica]));
    write();
    if (isSharded)
      schedule.append(
          Action(ActionKind::Reshard, replica, gathered[replica]++));
  };
  // Writes R of the stages of a segment in their order, before the backward of
  // its last stage. recomputed[replica]: last micro-batch whose R is written.
  const EdgeTable edges(problem);
  std::vector<int32_t> recomputed(replicas, -1);
  auto recomputeSegment = [&](int32_t last, int32_t i) {
    if (!problem.recomputesAcross(last) || recomputed[last] == i)
      return;
    std::vector<bool> isIn(replicas);
    isIn[last] = true;
    for (int32_t s = last; s >= 0; --s)
      for (int32_t e : edges.inputs(s, ActionKind::Recompute))
        isIn[problem.edges[e].from] = isIn[problem.edges[e].from] || isIn[s];
    for (int32_t s = 0; s <= last; ++s)
      if (isIn[s] && recomputed[s] != i) {
        schedule.append(Action(ActionKind::Recompute, s, i));
        recomputed[s] = i;
      }
  };
  for (int32_t k = 0; k < problem.microbatches; ++k) {
    const int32_t i = order.empty() ? k : order[k];
    for (int32_t s = 0; s < replicas; ++s)
      if (problem.replicas[s].takes(i))
        whole(s, [&] { schedule.append(Action(ActionKind::Forward, s, i)); });
    for (int32_t s = replicas - 1; s >= 0; --s) {
      if (!problem.replicas[s].takes(i))
        continue;
      recomputeSegment(s, i);
      whole(s, [&] {
        if (problem.recomputes(s) && recomputed[s] != i)
          schedule.append(Action(ActionKind::Recompute, s, i));
        schedule.append(Action(ActionKind::Backward, s, i));
      });
    }
    // Reductions come after the backwards of all replicas, since they add the
    // gradients of a whole group.
    for (int32_t s = 0; s < replicas; ++s)
      if (problem.replicas[s].isSharded() &&
          size_t(reduced[s]) < units[s].size() && units[s][reduced[s]] == k + 1)
        schedule.append(Action(ActionKind::ReduceGrad, s, reduced[s]++));
  }
  schedule.endRank();
  return schedule;
}

Schedule rondo::evaluationSchedule(const Problem &problem) {
  Schedule schedule;
  schedule.reserve(int64_t(problem.numReplicas()) * problem.microbatches);
  for (const std::vector<int32_t> &replicas :
       problem.replicas.byRank(problem.numRanks())) {
    for (int32_t i = 0; i < problem.microbatches; ++i)
      for (int32_t replica : replicas)
        if (problem.replicas[replica].takes(i))
          schedule.append(Action(ActionKind::Forward, replica, i));
    schedule.endRank();
  }
  if (!problem.replicas.areSharded())
    return schedule;
  // Keeps one chunk whole at a time. If that deadlocks, because groups overlap
  // in part, gathers chunks for each micro-batch.
  Schedule placed = placeGathers(problem, schedule, {{/*weights=*/1, 1}});
  return simulate(problem, placed).complete
             ? placed
             : placeGathers(problem, schedule, {{/*weights=*/0, 1}});
}
