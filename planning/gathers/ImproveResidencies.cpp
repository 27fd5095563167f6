//===- ImproveResidencies.cpp - Descent over residencies ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each move changes one number of one group of ranks by one. More whole chunks
// save gathers and need more memory. A shorter lookahead needs memory for less
// time and hides less of the gather.
//
//===----------------------------------------------------------------------===//

#include "planning/gathers/FittingGathers.h"
#include "planning/gathers/ResidencyTrial.h"

#include <algorithm>

using namespace rondo;

/// The distinct residencies that are one move away. A lookahead of weights - 1
/// is written as allAhead.
static std::vector<Residency> movesFrom(Residency from, int32_t chunks) {
  std::vector<Residency> moves;
  const int32_t most = std::max(from.weights - 1, 0),
                ahead = from.ahead == Residency::allAhead
                            ? most
                            : std::min(from.ahead, most);
  auto add = [&](int32_t weights, int32_t gradients, int32_t ahead) {
    if (weights < 1 || weights > chunks || gradients < 1 ||
        gradients > chunks || ahead < 0 || ahead > weights - 1)
      return;
    moves.push_back({weights, gradients,
                     ahead == weights - 1 ? Residency::allAhead : ahead});
  };
  add(from.weights + 1, from.gradients, ahead + 1);
  add(from.weights + 1, from.gradients, ahead);
  add(from.weights - 1, from.gradients, std::min(ahead, from.weights - 2));
  add(from.weights, from.gradients + 1, ahead);
  add(from.weights, from.gradients - 1, ahead);
  add(from.weights, from.gradients, ahead + 1);
  add(from.weights, from.gradients, ahead - 1);
  return moves;
}

Residencies rondo::improveResidencies(
    const Problem &problem, const Schedule &schedule, const Residencies &start,
    const std::function<bool(const Schedule &)> &fits, int64_t &trials) {
  Residencies byRank(problem.numRanks(), start.front());
  if (start.size() > 1)
    byRank = start;
  const std::vector<std::vector<int32_t>> groups = ranksThatShare(problem);
  const int32_t chunks = maxChunks(problem);
  auto tryOut = [&](const Residencies &residencies) {
    --trials;
    return tryResidencies(problem, schedule, residencies);
  };
  std::optional<ResidencyTrial> best = tryOut(byRank);
  if (!best)
    return start;
  for (bool isBetter = true; isBetter && trials > 0;) {
    isBetter = false;
    for (const std::vector<int32_t> &ranks : groups)
      for (const Residency &move :
           movesFrom(best->residencies[ranks.front()], chunks)) {
        if (trials <= 0)
          return best->residencies;
        Residencies moved = best->residencies;
        for (int32_t rank : ranks)
          moved[rank] = move;
        auto trial = tryOut(moved);
        if (!trial ||
            !(trial->rate(problem.memoryCaps) <
              best->rate(problem.memoryCaps)) ||
            !fits(placeGathers(problem, schedule, moved)))
          continue;
        best = std::move(trial);
        isBetter = true;
        break;
      }
  }
  return best->residencies;
}
