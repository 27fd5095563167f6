//===- ScheduleMoves.cpp - Gathers and reductions of a running schedule ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank runs what it issues with the ranks that it shares state with one at a
// time, in the order of issue. Each begins when all its ranks have come to it.
// The sums of a stage's groups are issued as in programs: behind the last
// reduction of the stage, those of later stages first.
//
//===----------------------------------------------------------------------===//

#include "schedule/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::findSums() {
  for (int32_t stage = problem.numStages(); stage-- > 0;) {
    const HomeRange homes = problem.homes.of(stage);
    const Home &first = *homes.begin();
    if (!first.isSharded() || homes.size() == first.pieces)
      continue;
    if (sums.empty()) {
      sums.resize(schedule.numRanks());
      sumNs.assign(problem.numHomes(), notMade);
      reductionsLeft.assign(problem.numHomes(), 0);
      for (Action action : schedule.all())
        if (action.kind() == ActionKind::ReduceGrad)
          ++reductionsLeft[action.subject];
    }
    for (const Home &home : homes) {
      const int32_t number = problem.homes.numberOf(stage, home.replica);
      sumNs[number] = sumAcrossNs(problem, number);
      if (sumNs[number] > 0 && !problem.isGroupLocal(number))
        sums[home.rank].homes.push_back(number);
    }
  }
}

/// Issues the sums whose reductions the rank has all issued, up to the first of
/// which it has not.
void Execution::issueSums(int32_t r, RankState &rank) {
  Sums &own = sums[r];
  for (; own.issued < own.homes.size(); ++own.issued) {
    const int32_t home = own.homes[own.issued];
    if (reductionsLeft[home] > 0)
      return;
    reducedNs[home] = notMade;
    moveLanes[r].issued.push_back(
        {Action(ActionKind::AllReduce, home, 0), notMade, rank.clock});
  }
}

HomeSteps Execution::membersOf(Action action) const {
  const auto home = static_cast<int32_t>(action.subject);
  return action.kind() == ActionKind::AllReduce
             ? samePieceOfGroups(problem, home)
             : HomeSteps{problem.homes.groupOf(home), 1,
                         problem.homes[home].pieces};
}

int64_t Execution::nsOf(Action action) const {
  return action.kind() == ActionKind::AllReduce
             ? sumNs[action.subject]
             : problem.cost(action.subject, action.kind()).ns;
}

void Execution::move(int32_t r, RankState &rank, Action action,
                     Simulation &result) {
  const Cost &cost = problem.cost(action.subject, action.kind());
  unreduced.takenBy(action);
  rank.use(cost.acquireBytes, cost.releaseBytes);
  if (!result.startNs.empty())
    result.startNs[rank.position] = result.endNs[rank.position] = rank.clock;
  if (action.kind() == ActionKind::Reshard ||
      problem.isGroupLocal(action.subject))
    return;
  (action.kind() == ActionKind::Unshard ? gatheredNs
                                        : reducedNs)[action.subject] = notMade;
  moveLanes[r].issued.push_back({action, rank.position, rank.clock});
  if (action.kind() == ActionKind::ReduceGrad && !sums.empty()) {
    --reductionsLeft[action.subject];
    issueSums(r, rank);
  }
  runMoves(r, result);
}

/// Whether the rank of a home has come to an action of its group.
bool Execution::isHead(int32_t home, Action action) const {
  const IssueQueue<IssuedMove> &lane = moveLanes[problem.rankOf(home)];
  return !lane.isEmpty() && lane.head().action == ofHome(home, action);
}

/// Runs everything that can begin, beginning with the head of a rank's lane.
void Execution::runMoves(int32_t rank, Simulation &result) {
  constexpr int lane = static_cast<int>(Lane::Collective);
  std::vector<int32_t> toLookAt = {rank};
  while (!toLookAt.empty()) {
    const IssueQueue<IssuedMove> &own = moveLanes[toLookAt.back()];
    toLookAt.pop_back();
    if (own.isEmpty())
      continue;
    const Action action = own.head().action;
    const HomeSteps members = membersOf(action);
    int64_t begin = 0;
    bool areThere = true;
    for (int32_t k = 0; k < members.count; ++k) {
      const int32_t home = members[k];
      const int32_t member = problem.rankOf(home);
      areThere = areThere && isHead(home, action);
      if (areThere)
        begin = std::max({begin, moveLanes[member].head().readyNs,
                          otherClocks[member][lane]});
    }
    if (!areThere)
      continue;
    for (int32_t k = 0; k < members.count; ++k) {
      const int32_t home = members[k];
      const int32_t member = problem.rankOf(home);
      const int64_t endNs = begin + nsOf(ofHome(home, action));
      const int64_t position = moveLanes[member].head().position;
      if (!result.startNs.empty() && position != notMade) {
        result.startNs[position] = begin;
        result.endNs[position] = endNs;
      }
      otherClocks[member][lane] = endNs;
      // Behind the last reduction a step waits for the sum.
      if (action.kind() == ActionKind::Unshard)
        gatheredNs[home] = endNs;
      else if (action.kind() == ActionKind::AllReduce || sums.empty() ||
               sumNs[home] <= 0 || reductionsLeft[home] > 0)
        reducedNs[home] = endNs;
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
  const HomeSteps members = membersOf(wait.at);
  for (int32_t k = 0; k < members.count; ++k)
    if (const int32_t home = members[k]; !isHead(home, wait.at)) {
      wait.onRank = problem.rankOf(home);
      wait.needs = ofHome(home, wait.at);
      break;
    }
  return wait;
}
