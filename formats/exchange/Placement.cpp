//===- Placement.cpp - Where other tools can put stages -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Placement.h"

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

std::string exchange::describePlacement(const Problem &problem) {
  constexpr int32_t mostRanks = 3;
  std::string text;
  for (int32_t rank = 0; rank < std::min(problem.numRanks(), mostRanks);
       ++rank) {
    std::string stages;
    for (int32_t stage = 0; stage < problem.numStages(); ++stage)
      if (problem.rankOf(stage) == rank)
        stages += (stages.empty() ? "" : " ") + std::to_string(stage);
    text += (rank == 0 ? "" : ", ") + ("rank " + std::to_string(rank)) +
            " has stages " + (stages.empty() ? "none" : stages);
  }
  return text + (problem.numRanks() > mostRanks ? ", ..." : "");
}
