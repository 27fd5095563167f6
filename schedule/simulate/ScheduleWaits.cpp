//===- ScheduleWaits.cpp - Wait cycles of schedules -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/ScheduleExecution.h"

using namespace rondo;
using namespace rondo::schedule_execution;

/// The action that makes a message. An input gradient comes from I or B,
/// whichever the producer's order contains.
Action Execution::producerOf(int64_t message) const {
  const Edge &edge = problem.edges[message / microbatches];
  return asListed(schedule.rank(problem.rankOf(edge.from)),
                  Action(edge.producer, edge.from, message % microbatches));
}

Wait Execution::waitOf(int32_t r) const {
  const RankState &rank = ranks[r];
  Wait wait;
  wait.rank = wait.onRank = r;
  if (rank.position == rank.end)
    return waitOfLane(r);
  wait.at = schedule.rank(r)[rank.position - schedule.rankBegin(r)];
  if (rank.blocked == blockedByState) {
    // The state that it needs is queued in its own lane, so it waits for
    // whatever the head of that lane waits for.
    const Wait lane = waitOfLane(r);
    wait.needs = lane.needs;
    wait.onRank = lane.onRank;
    return wait;
  }
  if (rank.blocked == blockedByOwnTask) {
    const ActionTraits &traits = wait.at.traits();
    int64_t index = firstBlocking(wait.at);
    const Done needed = problem.neededFor(wait.at.subject, wait.at.kind());
    while (wait.at.isTask() &&
           index + 1 < int64_t(wait.at.index + wait.at.count) &&
           (done[wait.at.subject * microbatches + index] & needed) == needed)
      ++index;
    const Done absent = (problem.neededFor(wait.at.subject, wait.at.kind()) |
                         traits.needsOfAll) &
                        ~done[wait.at.subject * microbatches + index];
    wait.needs = Action(kindThatMakes(absent), wait.at.subject, index);
    return wait;
  }
  wait.needs = producerOf(rank.blocked);
  wait.onRank = problem.rankOf(wait.needs.subject);
  if (arrival[rank.blocked] < notMade) {
    const LinkOrder &order = linkOrders[outputOf(rank.blocked).link];
    if ((wait.isBehind = order.next < order.messages.size()))
      wait.behind = producerOf(order.messages[order.next]);
  }
  return wait;
}

std::vector<Wait> Execution::findCycle() const {
  auto isStuck = [&](int32_t r) {
    return ranks[r].position < ranks[r].end ||
           (isSharded && !moveLanes[r].isEmpty());
  };
  const int32_t numRanks = static_cast<int32_t>(ranks.size());
  std::vector<int32_t> next(numRanks, -1);
  for (int32_t r = 0; r < numRanks; ++r) {
    if (!isStuck(r))
      continue;
    int64_t blocked = ranks[r].blocked;
    next[r] = blocked == blockedByOwnTask ? r
              : blocked == blockedByState || ranks[r].position == ranks[r].end
                  ? waitOfLane(r).onRank
                  : problem.rankOf(problem.edges[blocked / microbatches].from);
    if (next[r] == r)
      return {waitOf(r)};
  }
  // Each stuck rank waits for one rank, so following the waits from the lowest
  // stuck rank reaches a cycle. In a complete schedule no rank waits for a rank
  // that has finished, since the ranks of a group issue the same actions (S9).
  int32_t r = 0;
  while (!isStuck(r))
    ++r;
  std::vector<Wait> cycle;
  for (int32_t member : walkToCircle(next, r))
    cycle.push_back(waitOf(member));
  return cycle;
}
