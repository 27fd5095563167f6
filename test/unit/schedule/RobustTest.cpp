//===- RobustTest.cpp - Schedules under sampled times ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/search/Search.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

using Statistic = Robustness::Statistic;

TEST(Robust, SamplesAreWithinTheJitterAndRepeatable) {
  Problem problem = linearProblem(3, 4, {1000, 2000, 500});
  problem.cost(1, ActionKind::Backward).ns = 2000;
  const Robustness robustness = {Statistic::Mean, 50, 20};
  Scenarios one(problem, robustness, 7), two(problem, robustness, 7),
      other(problem, robustness, 8);
  ASSERT_EQ(one.size(), 50u);
  bool differ = false, below = false, above = false;
  for (size_t i = 0; i < one.size(); ++i)
    for (int32_t s = 0; s < 3; ++s) {
      const int64_t forward = one[i].cost(s, ActionKind::Forward).ns;
      EXPECT_GE(forward, 800);
      EXPECT_LE(forward, 1200);
      below |= forward < 900;
      above |= forward > 1100;
      EXPECT_EQ(forward, two[i].cost(s, ActionKind::Forward).ns);
      differ |= forward != other[i].cost(s, ActionKind::Forward).ns;
      const int64_t split = one[i].cost(s, ActionKind::InputGrad).ns +
                            one[i].cost(s, ActionKind::WeightGrad).ns;
      const int64_t fused = one[i].cost(s, ActionKind::Backward).ns;
      EXPECT_EQ(fused, s == 1 ? split * 4 / 5 : split);
      EXPECT_FALSE(one[i].check());
    }
  EXPECT_TRUE(differ && below && above);
}

TEST(Robust, StatisticsAreWhatTheirNamesSay) {
  Problem problem = linearProblem(2, 2, {1, 1, 1});
  std::vector<int64_t> values;
  for (int64_t i = 100; i >= 1; --i)
    values.push_back(10 * i);
  EXPECT_EQ(Scenarios(problem, {Statistic::Mean, 1, 0}, 0).statisticOf(values),
            505);
  Scenarios p95(problem, {Statistic::Percentile95, 1, 0}, 0);
  EXPECT_EQ(p95.statisticOf(values), 950);
  EXPECT_EQ(p95.statisticOf({7}), 7);
}

SearchOptions withEffort(int64_t effort) {
  SearchOptions options;
  options.effort = effort;
  options.timeLimitMs = 0;
  return options;
}

TEST(Robust, WithoutJitterIsTheNominalFigure) {
  Problem problem = linearProblem(4, 12, {5, 4, 3, 1, 0});
  problem.memoryCaps.assign(4, 4);
  SearchOptions options = withEffort(400);
  options.robustness = {Statistic::Mean, 3, 0};
  SearchResult result = search(problem, options);
  ASSERT_TRUE(result.schedule && result.robustNs);
  EXPECT_EQ(*result.robustNs, result.simulation.makespanNs);
  EXPECT_LE(result.bound.ns, result.simulation.makespanNs);
}

TEST(Robust, HasAFigureInAShortTimeAsWell) {
  Problem problem = linearProblem(16, 400, {100, 110, 80, 1, 0}, 3);
  problem.memoryCaps.assign(16, 12);
  // A clock on which each look takes a tenth of a millisecond.
  static thread_local int64_t looks;
  looks = 0;
  SearchOptions options;
  options.timeLimitMs = 30;
  options.clock = [] { return double(++looks) / 10000; };
  options.robustness = {Statistic::Percentile95, 1000, 10};
  SearchResult result = search(problem, options);
  ASSERT_TRUE(result.schedule && result.robustNs);
  EXPECT_GE(result.robustSamples, 1);
  EXPECT_LT(result.robustSamples, 1000);
  EXPECT_EQ(result.stop, SearchStop::Time);
  EXPECT_GT(*result.robustNs, result.bound.ns * 9 / 10);
}

TEST(Robust, WinsOnFreshSamples) {
  // Without jitter many orders are optimal; they differ in their slack.
  Problem problem = linearProblem(6, 18, {100, 100, 100, 1, 0});
  problem.memoryCaps.assign(6, 12);
  SearchOptions options = withEffort(2000);
  SearchResult nominal = search(problem, options);
  for (Statistic statistic : {Statistic::Mean, Statistic::Percentile95}) {
    options.robustness = {statistic, 64, 40};
    SearchResult robust = search(problem, options),
                 again = search(problem, options);
    ASSERT_TRUE(nominal.schedule && robust.schedule && robust.robustNs);
    EXPECT_FALSE(checkSchedule(problem, *robust.schedule));
    EXPECT_EQ(robust.robustNs, again.robustNs);
    EXPECT_EQ(robust.effort, again.effort);
    EXPECT_GE(robust.simulation.makespanNs, nominal.bound.ns);
    // The figure is that of the same samples.
    Scenarios ranked(problem, *options.robustness, options.seed);
    EXPECT_EQ(*robust.robustNs, ranked.value(*robust.schedule));
    EXPECT_LE(*robust.robustNs, ranked.value(*nominal.schedule));
    Scenarios fresh(problem, {statistic, 400, 40}, 1234);
    EXPECT_LT(fresh.value(*robust.schedule), fresh.value(*nominal.schedule));
  }
}

} // namespace
