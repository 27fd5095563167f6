//===- RankWork.cpp - L1: what a rank must do -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank cannot start before the first micro-batch has come to one of its
// stages, then does all its work, and when it ends with I of a stage the way
// back from there is yet to come. If W can be last, the tail is 0.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"

#include <algorithm>

using namespace rondo;

/// F, I and W of all micro-batches of a rank.
static int64_t workOf(const Problem &problem, int32_t rank) {
  int64_t work = 0;
  for (int32_t s = 0; s < problem.numHomes(); ++s)
    if (problem.rankOf(s) == rank)
      work += problem.cost(s, ActionKind::Forward).ns +
              std::min(problem.cost(s, ActionKind::InputGrad).ns +
                           problem.cost(s, ActionKind::WeightGrad).ns,
                       problem.cost(s, ActionKind::Backward).ns) +
              problem.cost(s, ActionKind::Recompute).ns;
  return work * problem.microbatches;
}

/// When F of each stage can start.
static std::vector<int64_t> headsOf(const FlatProblem &flat) {
  std::vector<int64_t> heads(flat.stages, 0);
  for (int32_t s = 0; s < flat.stages; ++s)
    for (int32_t e : flat.inputs(0, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      heads[s] =
          std::max(heads[s], heads[message.from] + flat.ns[0][message.from] +
                                 message.transferNs());
    }
  return heads;
}

/// What follows I of each stage elsewhere, and its W if that leads no further.
static std::vector<int64_t> tailsOf(const FlatProblem &flat) {
  std::vector<int64_t> tails(flat.stages, 0);
  for (int32_t s = 0; s < flat.stages; ++s) {
    if (flat.outputs(1, s).empty())
      tails[s] = flat.ns[2][s];
    for (int32_t e : flat.outputs(1, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      tails[s] =
          std::max(tails[s], message.transferNs() + flat.ns[1][message.to] +
                                 tails[message.to]);
    }
  }
  return tails;
}

static int64_t computeRankWork(const Problem &problem, int64_t, int64_t) {
  int64_t best = 0;
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat) {
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      best = std::max(best, workOf(problem, rank));
    return best;
  }
  const std::vector<int64_t> heads = headsOf(*flat), tails = tailsOf(*flat);
  for (const std::vector<int32_t> &stages : flat->stagesOf) {
    if (stages.empty())
      continue;
    int64_t work = 0, head = never, tail = never;
    for (int32_t s : stages) {
      work += flat->ns[0][s] + flat->ns[1][s] + flat->ns[2][s] +
              problem.cost(s, ActionKind::Recompute).ns;
      head = std::min(head, heads[s]);
      // The last task is some stage's W, or its I if W takes no time.
      tail = std::min(tail, flat->ns[2][s] == 0 ? tails[s] : 0);
    }
    if (problem.objective == Objective::Span)
      head = tail = 0;
    best = std::max(best, head + work * flat->microbatches + tail);
  }
  return best;
}

BoundArgument rondo::rankWork() {
  return {"L1", "head, work and tail of each rank", computeRankWork, false};
}
