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
  const int64_t own = next(0, replica);
  bool isOldest = true;
  int64_t reserve = 0;
  for (int32_t other : replicasOf[rank]) {
    isOldest &= next(0, other) >= own && next(2, other) >= own;
    reserve = std::max(reserve, most[other]);
  }
  const int64_t after = held[rank] + most[replica];
  return after <= cap && (isOldest || after + reserve <= cap);
}

bool Greedy::canStart(int letter, int32_t replica, int64_t now) const {
  const int64_t microbatch = next(letter, replica);
  if (microbatch >= problem.microbatches)
    return false;
  // I after its own F, W after its own I.
  if (letter > 0 && started[letter][replica] >= started[letter - 1][replica])
    return false;
  if (letter == 2)
    return true;
  const int64_t place = at(replica, microbatch);
  return missing[letter][place] == 0 && arrived[letter][place] <= now &&
         (letter == 1 || fits(replica));
}

Greedy::Candidate Greedy::choose(const Priorities &priorities, int32_t rank,
                                 int64_t now) const {
  Candidate best;
  bool bestIsLast = false;
  for (int32_t replica : replicasOf[rank])
    for (int letter : {1, 0, 2}) {
      if (!canStart(letter, replica, now))
        continue;
      const int64_t target = priorities.offset[letter][replica] +
                             next(letter, replica) * priorities.period;
      // A W that only fills comes after all other tasks.
      const bool isLast = letter == 2 && !priorities.ordersWeightGrads;
      if (best.replica < 0 || (bestIsLast && !isLast) ||
          (bestIsLast == isLast && target < best.target)) {
        best = {replica, letter, target};
        bestIsLast = isLast;
      }
    }
  return best;
}

void Greedy::task(ActionKind kind, int32_t replica, int64_t microbatch,
                  int32_t rank) {
  const Cost &cost = problem.cost(replica, kind);
  orders[rank].push_back(Action(kind, replica, microbatch));
  clock[rank] += cost.ns;
  held[rank] += cost.acquireBytes - cost.releaseBytes;
}

void Greedy::start(const Candidate &chosen, bool isFused, int32_t rank,
                   int64_t now) {
  constexpr ActionKind kinds[] = {ActionKind::Forward, ActionKind::InputGrad,
                                  ActionKind::WeightGrad};
  const int32_t replica = chosen.replica;
  const int64_t microbatch = next(chosen.letter, replica);
  clock[rank] = now;
  if (chosen.letter == 1 && problem.recomputes(replica))
    task(ActionKind::Recompute, replica, microbatch, rank);
  const ActionKind kind = chosen.letter == 1 && isFused ? ActionKind::Backward
                                                        : kinds[chosen.letter];
  task(kind, replica, microbatch, rank);
  ++started[chosen.letter][replica];
  --left;
  if (kind == ActionKind::Backward) {
    ++started[2][replica];
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
  const int letter = edge.producer == ActionKind::Forward ? 0 : 1;
  const int64_t place = at(edge.to, microbatch);
  --missing[letter][place];
  arrived[letter][place] = std::max(arrived[letter][place], arrival);
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
  for (int letter : {0, 1}) {
    const size_t places = size_t(problem.numReplicas()) * problem.microbatches;
    missing[letter].assign(places, 0);
    arrived[letter].assign(places, 0);
  }
  for (const Edge &edge : problem.edges)
    for (int64_t i = problem.replicas[edge.to].turn; i < problem.microbatches;
         i += problem.replicas[edge.to].turns)
      missing[edge.producer == ActionKind::Forward ? 0 : 1][at(edge.to, i)] +=
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
