//===- ScheduleMoves.cpp - Gathers and reductions of a running schedule ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank runs what it issues with the ranks that it shares state with one at a
// time, in the order of issue. Each begins when all its ranks have come to it.
//
//===----------------------------------------------------------------------===//

#include "schedule/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::move(int32_t r, RankState &rank, Action action,
                     Simulation &result) {
  const Cost &cost = problem.cost(action.subject, action.kind());
  unreduced.takenBy(action);
  rank.held += cost.acquireBytes;
  rank.peak = std::max(rank.peak, rank.held);
  rank.held -= cost.releaseBytes;
  if (!result.startNs.empty())
    result.startNs[rank.position] = result.endNs[rank.position] = rank.clock;
  if (action.kind() == ActionKind::Reshard ||
      problem.isGroupLocal(action.subject))
    return;
  (action.kind() == ActionKind::Unshard ? gatheredNs
                                        : reducedNs)[action.subject] = notMade;
  moveLanes[r].issued.push_back({action, rank.position, rank.clock});
  runMoves(r, result);
}

/// Whether the rank of a home has come to an action of its group.
bool Execution::isHead(int32_t home, Action action) const {
  const MoveLane &lane = moveLanes[problem.rankOf(home)];
  return !lane.isEmpty() && lane.head().action == ofHome(home, action);
}

/// Runs everything that can begin, beginning with the head of a rank's lane.
void Execution::runMoves(int32_t rank, Simulation &result) {
  constexpr int lane = static_cast<int>(Lane::Collective);
  std::vector<int32_t> toLookAt = {rank};
  while (!toLookAt.empty()) {
    const MoveLane &own = moveLanes[toLookAt.back()];
    toLookAt.pop_back();
    if (own.isEmpty())
      continue;
    const Action action = own.head().action;
    const int32_t first = problem.homes.groupOf(action.subject),
                  end = first + problem.homes[action.subject].pieces;
    int64_t begin = 0;
    bool areThere = true;
    for (int32_t home = first; home < end && areThere; ++home) {
      const int32_t member = problem.rankOf(home);
      areThere = isHead(home, action);
      if (areThere)
        begin = std::max({begin, moveLanes[member].head().readyNs,
                          otherClocks[member][lane]});
    }
    if (!areThere)
      continue;
    for (int32_t home = first; home < end; ++home) {
      const int32_t member = problem.rankOf(home);
      const int64_t endNs = begin + problem.cost(home, action.kind()).ns;
      const int64_t position = moveLanes[member].head().position;
      if (!result.startNs.empty()) {
        result.startNs[position] = begin;
        result.endNs[position] = endNs;
      }
      otherClocks[member][lane] = endNs;
      (action.kind() == ActionKind::Unshard ? gatheredNs : reducedNs)[home] =
          endNs;
      ++moveLanes[member].done;
      wake(member, blockedByState);
      toLookAt.push_back(member);
    }
  }
}

Wait Execution::waitOfLane(int32_t r) const {
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = moveLanes[r].head().action;
  wait.needs = wait.at;
  const int32_t first = problem.homes.groupOf(wait.at.subject);
  for (int32_t piece = 0; piece < problem.homes[wait.at.subject].pieces;
       ++piece)
    if (!isHead(first + piece, wait.at)) {
      wait.onRank = problem.rankOf(first + piece);
      wait.needs = ofHome(first + piece, wait.at);
      break;
    }
  return wait;
}
