//===- Placement.cpp - Where other tools can put stages -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Placement.h"

#include "kinds/Counts.h"

#include <algorithm>
#include <set>

using namespace rondo;
using namespace rondo::exchange;

PlacementKind exchange::placementOf(const Problem &problem) {
  const int32_t ranks = problem.numRanks(), stages = problem.numStages();
  bool isLoop = stages % ranks == 0, isV = stages == 2 * ranks;
  for (int32_t stage = 0; stage < stages; ++stage) {
    const int32_t rank = problem.rankOf(stage);
    isLoop &= rank == stage % ranks;
    isV &= rank == (stage < ranks ? stage : 2 * ranks - 1 - stage);
  }
  // On one rank, a V of two stages is a loop as well.
  if (isLoop)
    return stages == ranks ? PlacementKind::Linear : PlacementKind::Loop;
  return isV ? PlacementKind::V : PlacementKind::Other;
}

int32_t exchange::numGroupsInLoop(const Problem &problem) {
  const auto ranksOf = [&](int32_t stage) {
    std::set<int32_t> ranks;
    for (const Replica &replica : problem.replicas.of(stage))
      ranks.insert(replica.rank);
    return ranks;
  };
  std::set<int32_t> taken;
  int32_t groups = 0;
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const std::set<int32_t> ranks = ranksOf(stage);
    // Groups are numbered as their first ranks are.
    const bool isNew =
        (stage == 0 || *ranks.begin() > *ranksOf(stage - 1).begin()) &&
        std::none_of(ranks.begin(), ranks.end(),
                     [&](int32_t rank) { return taken.count(rank) > 0; });
    if (isNew && stage == groups)
      ++groups;
    else if (groups == 0 || ranks != ranksOf(stage % groups))
      return 0;
    taken.insert(ranks.begin(), ranks.end());
  }
  return problem.numStages() % groups == 0 ? groups : 0;
}

std::string exchange::describePlacement(const Problem &problem) {
  constexpr int32_t maxRanks = 3;
  std::string text;
  for (int32_t rank = 0; rank < std::min(problem.numRanks(), maxRanks);
       ++rank) {
    std::string stages;
    int64_t count = 0;
    for (const Replica &replica : problem.replicas)
      if (replica.rank == rank) {
        stages += " " + std::to_string(replica.stage);
        ++count;
      }
    text += (rank == 0 ? "" : ", ") + ("rank " + std::to_string(rank)) +
            " has " + (count == 0 ? "no stage" : nounFor(count, "stage")) +
            stages;
  }
  return text + (problem.numRanks() > maxRanks ? ", ..." : "");
}
