//===- ScheduleMoves.cpp - Gathers and reductions in simulation -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank runs its gathers, reductions and sums one at a time, in the order of
// issue. Each begins when all participating ranks have reached it. Sums over
// the groups of a stage are issued as in programs: after the stage's last
// reduction, those of later stages first.
//
//===----------------------------------------------------------------------===//

#include "schedule/simulate/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::findSums() {
  for (int32_t stage = problem.numStages(); stage-- > 0;) {
    const ReplicaRange replicas = problem.replicas.of(stage);
    const Replica &first = *replicas.begin();
    if (!first.isSharded() || replicas.size() == first.shards)
      continue;
    if (sums.empty()) {
      sums.resize(schedule.numRanks());
      sumNs.assign(problem.numReplicas(), notMade);
      reductionsLeft.assign(problem.numReplicas(), 0);
      for (Action action : schedule.all())
        if (action.kind() == ActionKind::ReduceGrad)
          ++reductionsLeft[action.subject];
    }
    for (const Replica &replica : replicas) {
      const int32_t number = problem.replicas.numberOf(stage, replica.index);
      sumNs[number] = sumAcrossNs(problem, number);
      if (sumNs[number] > 0 && !problem.isGroupLocal(number))
        sums[replica.rank].replicas.push_back(number);
    }
  }
}

/// Issues the rank's sums in order, until it reaches one whose reductions have
/// not all been issued.
void Execution::issueSums(int32_t r, RankState &rank) {
  Sums &own = sums[r];
  for (; own.issued < own.replicas.size(); ++own.issued) {
    const int32_t replica = own.replicas[own.issued];
    if (reductionsLeft[replica] > 0)
      return;
    reducedNs[replica] = notMade;
    moveLanes[r].issued.push_back(
        {Action(ActionKind::AllReduce, replica, 0), notMade, rank.clock});
  }
}

ReplicaSteps Execution::membersOf(Action action) const {
  const auto replica = static_cast<int32_t>(action.subject);
  return action.kind() == ActionKind::AllReduce
             ? sameShardOfGroups(problem, replica)
             : ReplicaSteps{problem.replicas.groupOf(replica), 1,
                            problem.replicas[replica].shards};
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

/// Whether `action` is at the head of the lane of the replica's rank.
bool Execution::isHead(int32_t replica, Action action) const {
  const IssueQueue<IssuedMove> &lane = moveLanes[problem.rankOf(replica)];
  return !lane.isEmpty() && lane.head().action == ofReplica(replica, action);
}

/// Runs all actions that can begin, starting with the head of the lane of
/// `rank`.
void Execution::runMoves(int32_t rank, Simulation &result) {
  constexpr int lane = static_cast<int>(Lane::Collective);
  std::vector<int32_t> pending = {rank};
  while (!pending.empty()) {
    const IssueQueue<IssuedMove> &own = moveLanes[pending.back()];
    pending.pop_back();
    if (own.isEmpty())
      continue;
    const Action action = own.head().action;
    const ReplicaSteps members = membersOf(action);
    int64_t begin = 0;
    bool areReady = true;
    for (int32_t k = 0; k < members.count; ++k) {
      const int32_t replica = members[k];
      const int32_t member = problem.rankOf(replica);
      areReady = areReady && isHead(replica, action);
      if (areReady)
        begin = std::max({begin, moveLanes[member].head().readyNs,
                          otherClocks[member][lane]});
    }
    if (!areReady)
      continue;
    for (int32_t k = 0; k < members.count; ++k) {
      const int32_t replica = members[k];
      const int32_t member = problem.rankOf(replica);
      const int64_t endNs = begin + nsOf(ofReplica(replica, action));
      const int64_t position = moveLanes[member].head().position;
      if (!result.startNs.empty() && position != notMade) {
        result.startNs[position] = begin;
        result.endNs[position] = endNs;
      }
      otherClocks[member][lane] = endNs;
      // After the last reduction, the step waits for the sum over groups
      // instead.
      if (action.kind() == ActionKind::Unshard)
        gatheredNs[replica] = endNs;
      else if (action.kind() == ActionKind::AllReduce || sums.empty() ||
               sumNs[replica] <= 0 || reductionsLeft[replica] > 0)
        reducedNs[replica] = endNs;
      ++moveLanes[member].done;
      wake(member, blockedByState);
      pending.push_back(member);
    }
  }
}

Wait Execution::waitOfLane(int32_t r) const {
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = moveLanes[r].head().action;
  wait.needs = wait.at;
  const ReplicaSteps members = membersOf(wait.at);
  for (int32_t k = 0; k < members.count; ++k)
    if (const int32_t replica = members[k]; !isHead(replica, wait.at)) {
      wait.onRank = problem.rankOf(replica);
      wait.needs = ofReplica(replica, wait.at);
      break;
    }
  return wait;
}
