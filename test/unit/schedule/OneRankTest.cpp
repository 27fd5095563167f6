//===- OneRankTest.cpp - Bound LB5 and the labels it is made of -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"
#include "Exhaustive.h"
#include "RandomProblem.h"

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/RankLabels.h"
#include "schedule/search/Search.h"

#include <limits>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t anyCeiling = std::numeric_limits<int64_t>::max();

int64_t boundL5(const Problem &problem, int64_t ceiling, int64_t effort) {
  return oneRank().compute(problem, ceiling, effort);
}

/// The best that each rank's labels prove, with how often they ran out of
/// effort.
int64_t leastOfRanks(const Problem &problem, int64_t effort, int64_t &limited) {
  const auto flat = FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->isChain || !flat->offsetsAreExact)
    return 0;
  Propagation propagation(*flat, true);
  if (propagation.estimate(PartialState(*flat)).bound >= never)
    return 0;
  const std::vector<int64_t> starts = flat->startsInChain();
  int64_t best = 0;
  for (int32_t rank = 0; rank < flat->ranks; ++rank) {
    const size_t stages = flat->stagesOf[rank].size();
    if (stages == 0 || stages > RankChain::maxStages)
      continue;
    int64_t left = effort;
    const LeastObjective least = leastObjective(
        *flat, propagation, RankChain(*flat, starts, rank), anyCeiling, left);
    best = std::max(best, least.ns);
    limited += least.isLimited;
  }
  return best;
}

void expectNoneBelow(const Problem &problem, int64_t ns, int64_t &checked) {
  const auto answer = Exhaustive(problem, ns, /*inOrder=*/true).below(20000);
  EXPECT_NE(answer, Exhaustive::Answer::Yes) << "bound " << ns;
  checked += answer == Exhaustive::Answer::No;
}

/// Activations of all stages are alike, so that a rank's cap counts for others,
/// and there is little room.
Problem drawEqual(Engine &random) {
  Problem problem = drawTiny(random);
  std::vector<int64_t> stages(problem.numRanks());
  const int64_t activation = pick(random, 1, 2);
  const int64_t frees = pick(random, 0, 2) * activation / 2;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    problem.setStageCost(s, pick(random, 0, 6), pick(random, 0, 6),
                         pick(random, 0, 6), activation, frees);
    ++stages[problem.rankOf(s)];
  }
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    problem.memoryCaps[rank] = activation * (stages[rank] + pick(random, 0, 1));
  return problem;
}

TEST(OneRank, NoScheduleIsShorter) {
  Engine random(31);
  int64_t checked = 0, above = 0;
  for (int n = 0; n < caseCount(3000); ++n) {
    SCOPED_TRACE(n);
    const Problem problem = n % 2 ? drawTiny(random) : drawEqual(random);
    ASSERT_FALSE(problem.check());
    const int64_t ns = boundL5(problem, anyCeiling, 100000);
    above += ns > quickBound(problem).ns;
    expectNoneBelow(problem, ns, checked);
    // An objective that is assumed changes nothing but what is proven at most.
    EXPECT_LE(boundL5(problem, ns + 1, 100000), ns + 1);
    EXPECT_EQ(boundL5(problem, ns, 100000), ns);
  }
  EXPECT_GT(checked, caseCount(2500));
  EXPECT_GT(above, caseCount(60));
}

/// Labels that are merged prove less, never too much.
TEST(OneRank, NoScheduleIsShorterThanWhatMergedLabelsProve) {
  Engine random(37);
  int64_t checked = 0, limited = 0, merged = 0;
  for (int n = 0; n < caseCount(3000); ++n) {
    SCOPED_TRACE(n);
    const Problem problem = n % 2 ? drawTiny(random) : drawEqual(random);
    int64_t none = 0;
    const int64_t exact = leastOfRanks(problem, 1000000, none);
    EXPECT_EQ(none, 0);
    expectNoneBelow(problem, exact, checked);
    for (int64_t effort : {30, 60, 120, 240}) {
      const int64_t ns = leastOfRanks(problem, effort, limited);
      EXPECT_LE(ns, exact);
      merged += ns < exact;
    }
  }
  EXPECT_GT(checked, caseCount(2500));
  EXPECT_GT(limited, caseCount(1000));
  EXPECT_GT(merged, caseCount(40));
}

/// With more micro-batches than all schedules can be made of, where two of them
/// often meet.
TEST(OneRank, IsNotAboveSchedulesThatAreFound) {
  Engine random(43);
  int64_t met = 0;
  for (int n = 0; n < 400; ++n) {
    SCOPED_TRACE(n);
    const int32_t ranks = int32_t(pick(random, 2, 4));
    const Unit unit = {pick(random, 1, 6), pick(random, 1, 6),
                       pick(random, 0, 3), 1, pick(random, 0, 1)};
    Problem problem = problemOn(n % 2 ? waveRanks(ranks, 2)
                                      : loopedRanks(ranks, 1 + n % 4 / 2),
                                ranks, int32_t(pick(random, 3, 6)), unit);
    problem.link.latencyNs = pick(random, 0, 2);
    problem.memoryCaps.assign(ranks, pick(random, 2, 4));
    SearchOptions options;
    options.effort = 300;
    options.timeLimitMs = 0;
    const SearchResult found = search(problem, options);
    ASSERT_TRUE(found.schedule);
    const int64_t ns = boundL5(problem, anyCeiling, 100000);
    EXPECT_LE(ns, found.simulation.makespanNs);
    met += ns == found.simulation.makespanNs;
  }
  EXPECT_GT(met, 100);
}

/// Looped, with a heavy last stage and little room.
Problem heavyEnd(int32_t ranks, int64_t cap) {
  Problem problem =
      problemOn(loopedRanks(ranks, 2), ranks, 8, {2500, 2530, 1672, 1, 0});
  problem.setStageCost(2 * ranks - 1, 6872, 5764, 1672, 1, 0);
  problem.link.latencyNs = 163;
  problem.memoryCaps.assign(ranks, cap);
  return problem;
}

/// Bound proved by a rank's labels, after its chain has been changed.
template <typename Change>
int64_t leastOf(const Problem &problem, int32_t rank, int64_t effort,
                const Change &change) {
  const FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Least);
  Propagation propagation(flat, true);
  propagation.estimate(PartialState(flat));
  const std::vector<int64_t> starts = flat.startsInChain();
  RankChain chain(flat, starts, rank);
  change(chain);
  return leastObjective(flat, propagation, chain, anyCeiling, effort).ns;
}

TEST(OneRank, SeesTheRoomOfAnotherRank) {
  const Problem problem = heavyEnd(4, 4);
  EXPECT_EQ(leastOf(problem, 3, 1000000, [](RankChain &) {}), 200574);
  EXPECT_EQ(
      leastOf(problem, 3, 1000000, [](RankChain &chain) { chain.slots = {}; }),
      185814);
}

TEST(OneRank, SeesThatStagesKeepMicrobatchesApart) {
  const Problem problem = heavyEnd(6, 7);
  EXPECT_EQ(leastOf(problem, 0, 1000000, [](RankChain &) {}), 185124);
  EXPECT_EQ(leastOf(problem, 0, 1000000,
                    [](RankChain &chain) {
                      for (RankChain::Operation &operation : chain.operations)
                        operation.spacing = 0;
                    }),
            184194);
}

TEST(OneRank, SeesThatMicrobatchesMeetAtAStage) {
  // Two micro-batches are under way, and one comes back where the other one
  // goes.
  Problem problem =
      problemOn({0, 1, 2, 3, 3, 2, 1, 0}, 4, 6, {5000, 4882, 2520, 4, 0});
  problem.link.latencyNs = 324;
  problem.memoryCaps.assign(4, 16);
  EXPECT_EQ(boundL5(problem, anyCeiling, 100000), 226800);
}

/// Trials end, also where their steps are as short as can be.
TEST(OneRank, EndsAtAnyCeilingAndWithAnyEffort) {
  Engine random(41);
  int64_t limited = 0;
  for (int n = 0; n < 1000; ++n) {
    const Problem problem = n % 2 ? drawTiny(random) : drawEqual(random);
    const int64_t exact = leastOfRanks(problem, 1000000, limited);
    for (int64_t effort : {1, 100, 1000})
      for (int64_t above : {1, 2, 3, 9, 1000}) {
        const int64_t ns = boundL5(problem, exact + above, effort);
        EXPECT_LE(ns, std::max(exact, quickBound(problem).ns)) << n;
      }
  }
}

TEST(OneRank, SpendsMostWhereItsLookHasTold) {
  // A probe of all ranks proves 193278 ns with this effort, all labels 200574
  // ns.
  EXPECT_GT(boundL5(heavyEnd(4, 4), 222000, 1000), 198000);
}

TEST(OneRank, ProvesMuchOfWhatAllLabelsDoWithFew) {
  EXPECT_GT(leastOf(heavyEnd(4, 4), 3, 2000, [](RankChain &) {}), 199000);
}

} // namespace
