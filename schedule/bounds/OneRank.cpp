//===- OneRank.cpp - LB5: one real rank, all others pure delays -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank keeps its cap, its order and its exclusive use, another one its cap;
// for the rest other ranks delay micro-batches and keep them apart
// (RankChain.h). What is left is solved by dynamic programming, exactly if
// effort allows (RankLabels.h).
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/Idle.h"
#include "schedule/bounds/RankLabels.h"

#include <algorithm>

using namespace rondo;

namespace {

struct Candidate {
  RankChain chain;
  /// What it has proved, and whether more effort may prove more.
  int64_t bound;
  bool isLimited;
};

/// A part of the effort is for a look at all ranks. The best of them share what
/// is left, or so many times as much if the look has raised the bound. After so
/// many that tell no more, no other is tried.
constexpr int64_t partToChoose = 4, moreIfTold = 4;
constexpr int maxInVain = 2;
/// Bounds that differ by no more than this part are about the same.
constexpr int64_t partAsGood = 64;

/// What a rank proves, by trials: the lower the objective that is tried, the
/// fewer labels there are. The first step is a part of the way to the ceiling.
constexpr int64_t firstPart = 3, longerBy = 2, shorterBy = 4;
/// No step is tried that is no longer than this part of the ceiling.
constexpr int64_t leastPart = 2000;

/// Raises the bound as far as a rank allows. Returns whether labels were too
/// many to tell.
bool raise(const FlatProblem &flat, const Propagation &propagation,
           const RankChain &chain, int64_t ceiling, int64_t &effort,
           int64_t &bound) {
  if (ceiling >= never) {
    const LeastObjective least =
        leastObjective(flat, propagation, chain, ceiling, effort);
    bound = std::max(bound, least.ns);
    return least.isLimited;
  }
  for (int64_t step = (ceiling - bound + firstPart - 1) / firstPart;
       bound < ceiling;) {
    const int64_t tried = std::min(ceiling, bound + step);
    const LeastObjective least =
        leastObjective(flat, propagation, chain, tried, effort);
    bound = std::max(bound, least.ns);
    if (least.ns >= tried)
      step *= longerBy;
    else if (!least.isLimited)
      return false;
    else
      step /= shorterBy;
    if (effort <= 0 || step <= ceiling / leastPart)
      return true;
  }
  return false;
}

int64_t computeOneRank(const Problem &problem, int64_t ceiling,
                       int64_t effort) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  // A micro-batch passes the stages of a rank one after another, and back.
  if (!flat || !flat->isChain || !flat->offsetsAreExact)
    return 0;
  Propagation propagation(*flat, true);
  const int64_t estimate = propagation.estimate(PartialState(*flat)).bound;
  if (estimate >= never)
    return 0;
  const std::vector<int64_t> starts = flat->startsInChain();
  const int64_t known =
      std::max(estimate, idleBound(*flat, propagation, flat->microbatches));
  if (known >= ceiling)
    return ceiling;
  std::vector<Candidate> candidates;
  for (int32_t rank = 0; rank < flat->ranks; ++rank)
    if (const size_t stages = flat->stagesOf[rank].size();
        stages > 0 && stages <= RankChain::maxStages)
      candidates.push_back({RankChain(*flat, starts, rank), known, true});
  if (candidates.empty())
    return known;
  const int64_t ofEach = effort / partToChoose / int64_t(candidates.size());
  for (Candidate &candidate : candidates) {
    effort -= ofEach;
    int64_t left = ofEach;
    candidate.isLimited = raise(*flat, propagation, candidate.chain, ceiling,
                                left, candidate.bound);
    effort += std::max<int64_t>(0, left);
    if (candidate.bound >= ceiling)
      return ceiling;
  }
  // First the one that has most to do and least room of those that have told
  // about as much as any, then as they have told.
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate &a, const Candidate &b) { return a.bound > b.bound; });
  int64_t best = candidates.front().bound;
  if (best > known)
    effort *= moreIfTold;
  const auto end = std::find_if(
      candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
        return candidate.bound < best - best / partAsGood;
      });
  const auto first = std::max_element(
      candidates.begin(), end, [](const Candidate &a, const Candidate &b) {
        return a.chain.period < b.chain.period;
      });
  std::rotate(candidates.begin(), first, first + 1);
  int inVain = 0;
  for (const Candidate &candidate : candidates) {
    if (!candidate.isLimited)
      continue;
    // Most often the first one tells most, and many are alike.
    int64_t left = effort - effort / 4;
    effort -= left;
    const int64_t before = best;
    raise(*flat, propagation, candidate.chain, ceiling, left, best);
    effort += std::max<int64_t>(0, left);
    inVain += best == before;
    if (best >= ceiling || inVain == maxInVain)
      break;
  }
  return best;
}

} // namespace

BoundArgument rondo::oneRank() {
  return {"L5", "one real rank, the others as delays", computeOneRank,
          BoundCost::Labels, true};
}
