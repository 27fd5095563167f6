//===- Greedy.cpp - Orders that never wait while a task can run -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Greedy.h"

#include <algorithm>
#include <map>

using namespace rondo;

Greedy::Greedy(const Problem &problem)
    : problem(problem), edges(problem),
      replicasOf(problem.replicas.byRank(problem.numRanks())), links(problem),
      network(links) {
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const Cost &again = problem.cost(replica, ActionKind::Recompute);
    most.push_back(
        problem.cost(replica, ActionKind::Forward).acquireBytes +
        again.acquireBytes +
        std::max<int64_t>(
            0, problem.cost(replica, ActionKind::InputGrad).acquireBytes -
                   again.releaseBytes));
  }
}

/// The oldest micro-batch of a rank may take all memory. Others must leave
/// enough for any forward that the oldest one may still have to begin.
bool Greedy::fits(int32_t replica) const {
  const int32_t rank = problem.rankOf(replica);
  const int64_t cap = problem.memoryCaps[rank];
  if (cap == noMemoryCap)
    return true;
  const int64_t own = next(Task::F, replica);
  bool isOldest = true;
  int64_t reserve = 0;
  for (int32_t other : replicasOf[rank]) {
    isOldest &= next(Task::F, other) >= own && next(Task::W, other) >= own;
    reserve = std::max(reserve, most[other]);
  }
  const int64_t after = held[rank] + most[replica];
  return after <= cap && (isOldest || after + reserve <= cap);
}

bool Greedy::canStart(Task task, int32_t replica, int64_t now) const {
  const int64_t microbatch = next(task, replica);
  if (microbatch >= problem.microbatches)
    return false;
  // I needs its own F, and W its own I.
  if (task != Task::F &&
      started[task][replica] >= started[taskBefore(task)][replica])
    return false;
  if (task == Task::W)
    return true;
  const int64_t place = at(replica, microbatch);
  return missing[task][place] == 0 && arrived[task][place] <= now &&
         (task == Task::I || fits(replica));
}

Greedy::Candidate Greedy::choose(const Priorities &priorities, int32_t rank,
                                 int64_t now) const {
  Candidate best;
  bool bestIsLast = false;
  for (int32_t replica : replicasOf[rank])
    for (Task task : {Task::I, Task::F, Task::W}) {
      if (!canStart(task, replica, now))
        continue;
      const int64_t target = priorities.offset[task][replica] +
                             next(task, replica) * priorities.period;
      // A W that only fills comes after all other tasks.
      const bool isLast = task == Task::W && !priorities.ordersWeightGrads;
      if (best.replica < 0 || (bestIsLast && !isLast) ||
          (bestIsLast == isLast && target < best.target)) {
        best = {replica, task, target};
        bestIsLast = isLast;
      }
    }
  return best;
}

void Greedy::append(ActionKind kind, int32_t replica, int64_t microbatch,
                    int32_t rank) {
  const Cost &cost = problem.cost(replica, kind);
  orders[rank].push_back(Action(kind, replica, microbatch));
  clock[rank] += cost.ns;
  held[rank] += cost.acquireBytes - cost.releaseBytes;
}

void Greedy::start(const Candidate &chosen, bool isFused, int32_t rank,
                   int64_t now) {
  const int32_t replica = chosen.replica;
  const int64_t microbatch = next(chosen.task, replica);
  clock[rank] = now;
  if (chosen.task == Task::I && problem.recomputes(replica))
    append(ActionKind::Recompute, replica, microbatch, rank);
  const ActionKind kind = chosen.task == Task::I && isFused
                              ? ActionKind::Backward
                              : kindOf(chosen.task);
  append(kind, replica, microbatch, rank);
  ++started[chosen.task][replica];
  --left;
  if (kind == ActionKind::Backward) {
    ++started[Task::W][replica];
    --left;
  }
  wake(rank, clock[rank]);
  for (int32_t e : edges.outputs(replica, kind)) {
    const Edge &edge = problem.edges[e];
    if (!problem.carries(edge, microbatch))
      continue;
    if (links.ofEdge(e) < 0)
      arrive(e, microbatch, clock[rank]);
    else if (network.crossesNics(links.ofEdge(e)))
      network.ask(links.ofEdge(e), clock[rank], at(e, microbatch));
    else
      send(e, microbatch, clock[rank]);
  }
}

/// A message crosses its link as soon as that is free, at `now` at the
/// earliest.
void Greedy::send(int32_t e, int64_t microbatch, int64_t now) {
  const int32_t number = links.ofEdge(e);
  const Link &link = links[number].link;
  const int64_t sent =
      network.carry(number, now, link.occupancyNs(problem.edges[e].bytes));
  arrive(e, microbatch, sent + link.latencyNs);
}

void Greedy::arrive(int32_t e, int64_t microbatch, int64_t arrival) {
  const Edge &edge = problem.edges[e];
  const Task task = taskOf(edge.producer);
  const int64_t place = at(edge.to, microbatch);
  --missing[task][place];
  arrived[task][place] = std::max(arrived[task][place], arrival);
  wake(problem.rankOf(edge.to), arrival);
}

/// Sends the messages that wait for NICs and are ready by `now`.
void Greedy::carryUntil(int64_t now) {
  while (network.hasRequests() && network.first().readyNs <= now) {
    const Network::Request request = network.next();
    send(static_cast<int32_t>(request.what / problem.microbatches),
         request.what % problem.microbatches, request.readyNs);
  }
}

std::optional<Schedule> Greedy::run(const Priorities &priorities) {
  orders.assign(problem.numRanks(), {});
  clock.assign(problem.numRanks(), 0);
  held.assign(problem.numRanks(), 0);
  network.reset();
  for (auto &column : started)
    column.assign(problem.numReplicas(), 0);
  for (Task task : {Task::F, Task::I}) {
    const size_t places = size_t(problem.numReplicas()) * problem.microbatches;
    missing[task].assign(places, 0);
    arrived[task].assign(places, 0);
  }
  for (const Edge &edge : problem.edges)
    for (int64_t i = problem.replicas[edge.to].turn; i < problem.microbatches;
         i += problem.replicas[edge.to].turns)
      missing[taskOf(edge.producer)][at(edge.to, i)] +=
          problem.carries(edge, i);
  left = problem.numTasks();
  alarms.reset(problem.numRanks());
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    alarms.touch(rank);
  alarms.run([&](const auto &alarm) { alarms.touch(alarm.resource); },
             [&](int32_t rank, int64_t now) {
               carryUntil(now);
               if (clock[rank] > now)
                 return true;
               const Candidate chosen = choose(priorities, rank, now);
               if (chosen.replica >= 0)
                 start(chosen, priorities.isFused[chosen.replica], rank, now);
               return true;
             });
  if (left > 0)
    return std::nullopt;
  return Schedule(orders);
}
