//===- ProgramCollectives.cpp - Simulation of collectives -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/ProgramExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::program_execution;

bool Execution::collective(int32_t r, RankState &rank, Action action) {
  setStart(rank.position, rank.clock);
  launch(r, rank.position);
  lanes[r].issued.push_back({collectiveOf(action), rank.position, rank.clock});
  runCollectives(r);
  return true;
}

Action Execution::issueOf(int32_t collective, int32_t rank) const {
  const Action await = awaitOf(collective);
  const Collective &desc = program.collectives[await.subject];
  if (!movesState(desc.kind))
    return Action(ActionKind::AllReduce, await.subject, await.index);
  for (int32_t replica : desc.replicas)
    if (problem.rankOf(replica) == rank)
      return Action(desc.kind == CollectiveKind::GatherWeights
                        ? ActionKind::Unshard
                        : ActionKind::ReduceGrad,
                    replica, await.index);
  return await;
}

bool Execution::isIssued(int32_t collective, int32_t rank) const {
  const std::vector<IssuedCollective> &issued = lanes[rank].issued;
  return std::any_of(issued.rbegin(), issued.rend(),
                     [&](const IssuedCollective &one) {
                       return one.collective == collective;
                     });
}

bool Execution::await(int32_t r, RankState &rank, Action action) {
  const int32_t collective = collectiveOf(action);
  if (!isIssued(collective, r))
    return needOwn(rank, issueOf(collective, r));
  const int64_t endNs = collectives[collective].endNs;
  if (endNs == notYet) {
    rank.waitFor = WaitFor::Collective;
    rank.id = collective;
    return false;
  }
  setStart(rank.position, rank.clock);
  rank.clock = std::max(rank.clock, endNs);
  setEnd(rank.position, rank.clock);
  return true;
}

/// Whether all its ranks have reached the collective.
bool Execution::isReady(const CollectiveState &state,
                        int32_t collective) const {
  return std::all_of(
      state.ranks.begin(), state.ranks.end(), [&](int32_t member) {
        const CollectiveLane &lane = lanes[member];
        return !lane.isEmpty() && lane.head().collective == collective &&
               mayBeginNs(lane.head().position) != notYet;
      });
}

/// Runs every collective that is ready, beginning with the head of the lane of
/// `rank`.
void Execution::runCollectives(int32_t rank) {
  std::vector<int32_t> pending = {rank};
  while (!pending.empty()) {
    const CollectiveLane &first = lanes[pending.back()];
    pending.pop_back();
    if (first.isEmpty())
      continue;
    const int32_t collective = first.head().collective;
    CollectiveState &state = collectives[collective];
    if (!isReady(state, collective))
      continue;
    int64_t begin = 0;
    for (int32_t member : state.ranks)
      begin =
          std::max({begin, lanes[member].head().issuedNs, lanes[member].freeNs,
                    mayBeginNs(lanes[member].head().position)});
    if (!state.nics.empty()) {
      if (!state.hasAsked)
        network.askForNics(collective, begin, -1 - int64_t(collective));
      state.hasAsked = true;
      continue;
    }
    runCollective(state, collective, begin);
    pending.insert(pending.end(), state.ranks.begin(), state.ranks.end());
  }
}

void Execution::runCollective(CollectiveState &state, int32_t collective,
                              int64_t readyNs) {
  state.endNs = network.carryOverNics(
      state.nics, readyNs,
      program.collectives[collective % program.collectives.size()].ns);
  for (int32_t member : state.ranks) {
    CollectiveLane &lane = lanes[member];
    const int64_t position = lane.head().position;
    setEnd(position, state.endNs);
    lane.freeNs = state.endNs;
    ++lane.done;
    if (launches.areLimited())
      endLaunch(member, position);
    wake(member, WaitFor::Collective, collective);
    // A LOAD may wait for a reduction.
    if (!copies.isEmpty())
      worklist.push(member);
  }
}

/// Sets in `wait` why the collective at the head of a rank's lane cannot run.
void Execution::needCollective(int32_t r, Wait &wait) const {
  const int32_t collective = lanes[r].head().collective;
  for (int32_t member : collectives[collective].ranks) {
    const CollectiveLane &lane = lanes[member];
    if (!lane.isEmpty() && lane.head().collective == collective)
      continue;
    wait.onRank = member;
    // If the member has issued the collective and something else is at the head
    // of its lane, that blocks it. If the lane is empty, that issue has already
    // run, and rank `r` waits for an issue that the member lacks.
    wait.isBehind = !lane.isEmpty() && isIssued(collective, member);
    wait.needs = wait.isBehind ? actions[lane.head().position]
                               : issueOf(collective, member);
    wait.behind = wait.needs;
    return;
  }
}
