//===- LessMemoryTest.cpp - Of equal objectives, the least memory ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "Exhaustive.h"

#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

SearchResult searchWith(const Problem &problem, int64_t effort) {
  SearchOptions options;
  options.effort = effort;
  options.timeLimitMs = 0;
  return search(problem, options);
}

/// A problem small enough for Exhaustive, without caps or with loose ones.
Problem drawProblem(std::mt19937 &random) {
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  const std::vector<std::vector<int32_t>> placements = {
      {0, 1}, {0, 1, 2}, {0, 1, 0}, {0, 1, 1, 0}};
  const auto &ranks = placements[random() % placements.size()];
  const int32_t microbatches = ranks.size() == 2   ? 4
                               : ranks.size() == 3 ? 3
                                                   : 2;
  const int64_t activation = pick(1, 4);
  Problem problem = problemOn(
      ranks, 1 + *std::max_element(ranks.begin(), ranks.end()), microbatches,
      {pick(1, 6), pick(1, 6), pick(1, 6), activation, pick(0, activation)});
  problem.link.latencyNs = pick(0, 3);
  if (pick(0, 1))
    problem.objective = Objective::Span;
  return problem;
}

TEST(LessMemory, IsTheLeastOfAllOptimalSchedules) {
  std::mt19937 random(3);
  int64_t compared = 0, least = 0, lowered = 0;
  for (int n = 0; n < 120; ++n) {
    Problem problem = drawProblem(random);
    const SearchResult result = searchWith(problem, 2000);
    ASSERT_TRUE(result.schedule);
    ASSERT_EQ(verdict(problem, *result.schedule), "");
    if (!result.provenOptimal)
      continue;
    const int64_t optimum = objectiveOf(problem, result.simulation);
    const int64_t peak = fullestPeak(result.simulation);
    lowered += result.origin == "less-memory";
    Problem below = problem;
    below.memoryCaps.assign(problem.numRanks(), peak - 1);
    const auto answer =
        Exhaustive(below, optimum + 1, /*inOrder=*/true).below(200000);
    compared += answer != Exhaustive::Answer::TooMany;
    least += answer == Exhaustive::Answer::No;
  }
  EXPECT_GT(compared, 80);
  // Lowering is no exact search, but on problems this small it nearly is.
  EXPECT_GE(least, compared - 1);
  EXPECT_GT(lowered, 20);
}

TEST(LessMemory, KeepsTheObjectiveAndIsTheSameEachTime) {
  Problem problem = problemOn({0, 1, 2, 3}, 4, 12, {3, 4, 2, 2, 1});
  problem.link.latencyNs = 1;
  const SearchResult one = searchWith(problem, 3000),
                     two = searchWith(problem, 3000);
  ASSERT_TRUE(one.schedule && two.schedule);
  EXPECT_TRUE(one.provenOptimal);
  EXPECT_EQ(one.simulation.makespanNs, two.simulation.makespanNs);
  EXPECT_EQ(one.simulation.peakBytes, two.simulation.peakBytes);
  for (int32_t r = 0; r < 4; ++r)
    for (int64_t i = 0; i < one.schedule->rank(r).size(); ++i)
      ASSERT_EQ(one.schedule->rank(r)[i], two.schedule->rank(r)[i]);
  // No cap forces it: all activations would be 24 bytes.
  EXPECT_LT(fullestPeak(one.simulation), 24);
  problem.memoryCaps.assign(4, fullestPeak(one.simulation));
  EXPECT_EQ(verdict(problem, *one.schedule), "");
}

} // namespace
