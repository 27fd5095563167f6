//===- Shortfall.cpp - Memory that every schedule needs -------------------===//

#include "schedule/Shortfall.h"

using namespace rondo;

static std::string countOfBytes(int64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::optional<Shortfall> rondo::findShortfall(const Problem &problem) {
  std::vector<int64_t> least(problem.numRanks());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    least[problem.rankOf(stage)] +=
        problem.cost(stage, ActionKind::Forward).acquireBytes;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    int64_t cap = problem.memoryCaps[rank];
    if (least[rank] > cap)
      return Shortfall{rank, "no schedule fits: rank " + std::to_string(rank) +
                                 " may hold " + countOfBytes(cap) +
                                 ", but one micro-batch of its stages takes " +
                                 countOfBytes(least[rank]) + ", " +
                                 std::to_string(least[rank] - cap) + " more"};
  }
  return std::nullopt;
}
