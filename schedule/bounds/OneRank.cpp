//===- OneRank.cpp - LB5: one real rank, all others pure delays -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A relaxation of the problem: one rank keeps its memory cap, runs one task at
// a time and runs the tasks of each micro-batch in order, and one other rank
// keeps its memory cap. All other constraints of other ranks are replaced by
// delays of micro-batches and least times between consecutive ones
// (RankChain.h). Dynamic programming solves this relaxation, exactly if effort
// allows (RankLabels.h).
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
  /// The bound that this rank proves, and whether more effort may raise it.
  int64_t bound;
  bool isLimited;
};

/// 1/partToChoose of the effort probes all ranks. If that raises the bound, the
/// remaining effort is multiplied by moreIfTold. The search stops after
/// maxInVain ranks without a gain.
constexpr int64_t partToChoose = 4, moreIfTold = 4;
constexpr int maxInVain = 2;
/// Bounds that differ by at most 1/partAsGood count as equal.
constexpr int64_t partAsGood = 64;

/// Trial objectives: a lower one leaves fewer labels. The first step is
/// 1/firstPart of the distance to the ceiling; a step grows by longerBy after a
/// success and shrinks by shorterBy if there were too many labels.
constexpr int64_t firstPart = 3, longerBy = 2, shorterBy = 4;
/// Steps of at most 1/leastPart of the ceiling are not tried.
constexpr int64_t leastPart = 2000;

/// Raises `bound` as far as this rank allows. Returns whether effort limited
/// the result.
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
  // On a chain, a micro-batch passes the stages of a rank in order, and back.
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
  // Sort by bound. Of the bounds within 1/partAsGood of the best, the rank with
  // the largest period (most work and least memory) comes first.
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
    // The first rank usually proves most, and ranks are often alike: each gets
    // three quarters of what is left.
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
