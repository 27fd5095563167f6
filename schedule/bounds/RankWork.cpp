//===- RankWork.cpp - L1: what a rank must do -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank cannot begin before the first micro-batch has come to one of its
// stages, then does all its work, and when it ends with I of its first stage
// the rest of the chain is still to come. Where W can be last, the tail is 0.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"

#include <algorithm>

using namespace rondo;

static int64_t computeRankWork(const Problem &problem, int64_t, int64_t) {
  int64_t best = 0;
  std::optional<Chain> chain = Chain::of(problem, BackwardCosts::Least);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    int64_t work = 0;
    if (!chain) {
      for (int32_t s = 0; s < problem.numStages(); ++s)
        if (problem.homeOf(s).rank == rank)
          work += problem.cost(s, ActionKind::Forward).ns +
                  std::min(problem.cost(s, ActionKind::InputGrad).ns +
                               problem.cost(s, ActionKind::WeightGrad).ns,
                           problem.cost(s, ActionKind::Backward).ns);
      best = std::max(best, work * problem.microbatches);
      continue;
    }
    const std::vector<int32_t> &stages = chain->stagesOf[rank];
    if (stages.empty())
      continue;
    for (int32_t s : stages)
      work += chain->ns[0][s] + chain->ns[1][s] + chain->ns[2][s];
    work *= chain->microbatches;
    int64_t head = 0, tail = 0;
    for (int32_t s = 0; s < stages.front(); ++s)
      head += chain->ns[0][s] + chain->messages[0][s].transferNs();
    // The last task is some stage's W, or its I where W takes no time; behind
    // I of stage s the gradient still goes to the front of the chain.
    for (size_t i = 0; i < stages.size(); ++i) {
      int64_t after = 0;
      if (chain->ns[2][stages[i]] == 0)
        for (int32_t s = stages[i]; s > 0; --s)
          after += chain->messages[1][s].transferNs() + chain->ns[1][s - 1] +
                   (s == 1 ? chain->ns[2][0] : 0);
      tail = i == 0 ? after : std::min(tail, after);
    }
    if (problem.objective == Objective::Span)
      head = tail = 0;
    best = std::max(best, head + work + tail);
  }
  return best;
}

BoundArgument rondo::rankWork() {
  return {"L1", "head, work and tail of each rank", computeRankWork, false};
}
