//===- Shards.cpp - Stages whose state is in pieces -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Shards.h"

#include <algorithm>

using namespace rondo;

std::optional<Fault> rondo::checkShards(const Problem &problem) {
  if (!problem.sharded.empty() &&
      problem.sharded.size() != size_t(problem.numStages()))
    return makeFault<FaultKind::ShardedCount>(problem.sharded.size(),
                                              problem.numStages());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const HomeRange homes = problem.homes.of(stage);
    const int32_t pieces = homes.begin()->pieces;
    const bool isSharded = !problem.sharded.empty() &&
                           problem.sharded[stage] != ShardedState::None;
    if (pieces < 1 || homes.size() % pieces != 0)
      return makeFault<FaultKind::GroupSize>(stage, pieces, homes.size());
    if (isSharded && pieces == 1)
      return makeFault<FaultKind::NoPieces>(stage);
    if (pieces == 1)
      continue;
    if (homes.begin()->isDealt())
      return makeFault<FaultKind::ShardedDeal>(stage);
    if (problem.iterations > 1)
      return makeFault<FaultKind::ShardedIterations>(stage, problem.iterations);
  }
  return std::nullopt;
}

bool rondo::movesState(const Schedule &schedule) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const ActionRange order = schedule.rank(r);
    if (std::any_of(order.begin(), order.end(),
                    [](Action action) { return action.traits().movesState(); }))
      return true;
  }
  return false;
}

Schedule rondo::withoutMoves(const Schedule &schedule) {
  Schedule result;
  result.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      if (!action.traits().movesState())
        result.append(action);
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  return result;
}
