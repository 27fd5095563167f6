//===- MemoryCurveTest.cpp - The best objective for every cap -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "Exhaustive.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/search/MemoryCurve.h"
#include "schedule/simulate/Objective.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

MemoryCurve curveOf(const Problem &problem, int64_t effort, int64_t points) {
  SearchOptions options;
  options.effort = effort;
  options.timeLimitMs = 0;
  return searchMemoryCurve(problem, options, points, search);
}

/// Properties of every curve.
void check(const Problem &problem, const MemoryCurve &curve) {
  ASSERT_FALSE(curve.points.empty());
  const CurvePoint *last = nullptr;
  for (const CurvePoint &point : curve.points) {
    const SearchResult &result = point.result;
    const int64_t reached = objectiveOf(problem, result.simulation);
    const Problem under = underCap(problem, point.capBytes);
    EXPECT_EQ(verdict(under, *result.schedule), "");
    EXPECT_NE(verdict(underCap(problem, point.capBytes - 1), *result.schedule),
              "");
    EXPECT_EQ(simulate(under, *result.schedule).makespanNs,
              result.simulation.makespanNs);
    EXPECT_LE(result.bound.ns, reached);
    EXPECT_LE(curve.boundOfAll.ns, result.bound.ns);
    EXPECT_EQ(result.provenOptimal, result.bound.ns == reached);
    EXPECT_LE(point.capBytes, point.boundUpToBytes);
    EXPECT_GE(point.capBytes, curve.leastBytes);
    if (last) {
      EXPECT_GT(point.capBytes, last->capBytes);
      EXPECT_LT(reached, objectiveOf(problem, last->result.simulation));
      EXPECT_LE(result.bound.ns, last->result.bound.ns);
    }
    last = &point;
  }
  EXPECT_FALSE(findShortfall(underCap(problem, curve.leastBytes)));
  EXPECT_TRUE(findShortfall(underCap(problem, curve.leastBytes - 1)));
}

int64_t pick(std::mt19937 &random, int64_t least, int64_t most) {
  return least + int64_t(random() % uint64_t(most - least + 1));
}

/// Without caps, with caps of all ranks in some proportion, or of some ranks.
Problem drawProblem(std::mt19937 &random) {
  const std::vector<std::vector<int32_t>> placements = {
      {0, 1}, {0, 1, 2}, {0, 1, 0}, {0, 1, 1, 0}};
  const auto &ranks = placements[random() % placements.size()];
  const int64_t activation = pick(random, 1, 3);
  Problem problem =
      problemOn(ranks, 1 + *std::max_element(ranks.begin(), ranks.end()),
                ranks.size() == 2   ? 4
                : ranks.size() == 3 ? 3
                                    : 2,
                {pick(random, 1, 6), pick(random, 1, 6), pick(random, 1, 6),
                 activation, pick(random, 0, activation)});
  problem.link.latencyNs = pick(random, 0, 3);
  const int64_t caps = pick(random, 0, 2);
  for (int64_t &cap : problem.memoryCaps)
    if (caps == 2 || (caps == 1 && pick(random, 0, 1)))
      cap = pick(random, 2 * activation, 5 * activation);
  if (pick(random, 0, 1))
    problem.objective = Objective::Span;
  return problem;
}

/// Under every cap, the best point within it is the best of all schedules.
TEST(MemoryCurve, IsThatOfAllSchedulesOfSmallProblems) {
  std::mt19937 random(8);
  int64_t caps = 0, several = 0;
  for (int n = 0; n < 60; ++n) {
    const Problem problem = drawProblem(random);
    if (findShortfall(problem))
      continue;
    const MemoryCurve curve = curveOf(problem, 40000, 1000);
    check(problem, curve);
    several += curve.points.size() > 1;
    const int64_t largest = curve.points.back().capBytes;
    for (int64_t cap = curve.leastBytes; cap <= largest; ++cap) {
      int64_t best = std::numeric_limits<int64_t>::max();
      bool isProven = false;
      for (const CurvePoint &point : curve.points)
        if (point.capBytes <= cap) {
          best = objectiveOf(problem, point.result.simulation);
          isProven = point.result.provenOptimal && cap <= point.boundUpToBytes;
        }
      const Problem under = underCap(problem, cap);
      EXPECT_EQ(Exhaustive(under, best, /*inOrder=*/true).below(300000),
                Exhaustive::Answer::No)
          << n << " at " << cap;
      EXPECT_TRUE(isProven) << n << " at " << cap;
      ++caps;
    }
  }
  EXPECT_GT(caps, 100);
  EXPECT_GT(several, 20);
}

TEST(MemoryCurve, OfALargerProblemIsMonotoneAndTheSameEachTime) {
  Problem problem = problemOn({0, 1, 2, 2, 1, 0}, 3, 12, {30, 41, 23, 4, 1});
  problem.link.latencyNs = 5;
  const MemoryCurve one = curveOf(problem, 4000, 6),
                    two = curveOf(problem, 4000, 6);
  check(problem, one);
  EXPECT_GT(one.points.size(), 3u);
  EXPECT_LE(one.points.size(), 6u);
  EXPECT_EQ(one.points.front().capBytes, one.leastBytes);
  ASSERT_EQ(one.points.size(), two.points.size());
  for (size_t i = 0; i < one.points.size(); ++i) {
    EXPECT_EQ(one.points[i].capBytes, two.points[i].capBytes);
    EXPECT_EQ(one.points[i].result.simulation.makespanNs,
              two.points[i].result.simulation.makespanNs);
    EXPECT_EQ(one.points[i].result.bound.ns, two.points[i].result.bound.ns);
  }
}

TEST(MemoryCurve, ShrinksCapsInProportion) {
  Problem problem = problemOn({0, 1, 2}, 3, 2, {1, 1, 1, 1, 0});
  problem.memoryCaps = {int64_t(1) << 61, int64_t(1) << 60, 3};
  EXPECT_EQ(underCap(problem, int64_t(1) << 60).memoryCaps,
            (std::vector<int64_t>{int64_t(1) << 60, int64_t(1) << 59, 1}));
  problem.memoryCaps[1] = noMemoryCap;
  EXPECT_EQ(underCap(problem, 5).memoryCaps, (std::vector<int64_t>{5, 5, 3}));
  EXPECT_EQ(leastCapOf(problem, {4, 7, 3}), 7);
}

TEST(MemoryCurve, HasAPointThoughInterrupted) {
  std::atomic<bool> interrupt{true};
  SearchOptions options;
  options.interrupt = &interrupt;
  Problem problem = problemOn({0, 1, 1, 0}, 2, 8, {3, 4, 2, 2, 1});
  const MemoryCurve curve = searchMemoryCurve(problem, options, 5, search);
  check(problem, curve);
  EXPECT_EQ(curve.points.size(), 1u);
  EXPECT_TRUE(curve.wasInterrupted);
}

TEST(MemoryCurve, SaysThatNothingFits) {
  Problem problem = problemOn({0, 1}, 2, 3, {1, 1, 1, 2, 0});
  problem.memoryCaps = {4, 1};
  const MemoryCurve curve = curveOf(problem, 100, 4);
  EXPECT_TRUE(curve.points.empty());
  ASSERT_TRUE(curve.fault);
  EXPECT_TRUE(isShortfall(*curve.fault));
}

} // namespace
