//===- UnevenSearchTest.cpp - Curves and samples by micro-batch -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/lists/Construct.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/MemoryCurve.h"
#include "schedule/search/Random.h"
#include "schedule/search/Search.h"

#include <cmath>

using namespace rondo;
using namespace rondo::test;

namespace {

/// The problem whose micro-batch i takes `factors[i]` times as long, and as
/// many bytes.
Problem withFactors(Problem problem, const std::vector<int64_t> &factors) {
  std::vector<Cost> costs;
  for (const Cost &cost : problem.costs)
    for (int64_t factor : factors)
      costs.push_back({cost.ns * factor, cost.acquireBytes * factor,
                       cost.releaseBytes * factor, cost.lane});
  problem.setUneven(std::move(costs), {});
  return problem;
}

TEST(UnevenSearch, ReplicasNeedTheMemoryOfTheirOwnMicrobatches) {
  Problem problem;
  problem.microbatches = 2;
  problem.memoryCaps = {10, 2};
  problem.replicas.addRoundRobinStage({0, 1}, 1);
  problem.setStageCost(0, 1, 1, 1, /*activation=*/1, 0);
  const Problem differ = withFactors(problem, {10, 2});
  EXPECT_EQ(neededActivationBytes(differ), (std::vector<int64_t>{10, 2}));
  EXPECT_EQ(leastActivationBytes(differ), (std::vector<int64_t>{10, 2}));
  EXPECT_FALSE(findShortfall(differ));
  SearchOptions options;
  options.effort = 100;
  EXPECT_TRUE(search(differ, options).schedule);
}

TEST(Random, ExponentialNumbersHaveTheirDistribution) {
  Random random(1);
  constexpr int draws = 100000;
  const double limits[] = {0.01, 0.1, 0.5, 1, 2, 5};
  int above[6] = {};
  double sum = 0;
  for (int n = 0; n < draws; ++n) {
    const double drawn = random.exponential();
    ASSERT_GE(drawn, 0);
    sum += drawn;
    for (int k = 0; k < 6; ++k)
      above[k] += drawn > limits[k];
  }
  EXPECT_NEAR(sum / draws, 1, 0.02);
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(double(above[k]) / draws, std::exp(-limits[k]), 0.01) << k;
}

TEST(Random, ExponentialNumbersAreLogarithms) {
  Random random(2), uniform(2);
  for (int n = 0; n < 1000; ++n) {
    const double part = std::ldexp(double(uniform.next() | 1), -64);
    EXPECT_NEAR(random.exponential(), -std::log(part), 2e-4) << n;
  }
}

/// The legalizer stops at the last entries that have not changed.
TEST(Legalizer, UnchangedEndsChangeNoResult) {
  Problem problem =
      withFactors(linearProblem(3, 6, {2, 3, 2, 2}), {5, 1, 2, 3, 1, 4});
  problem.memoryCaps.assign(3, 16);
  const std::optional<TaskGraph> graph = makeTaskGraph(problem, false);
  ASSERT_TRUE(graph);
  Random random(3);
  int differ = 0;
  for (const OrderClass orders :
       {OrderClass::Index, OrderClass::WPerm, OrderClass::Free}) {
    RankLists lists = constructOneByOne(*graph, {3, 1, 2, 0, 5, 4});
    if (orders == OrderClass::Index)
      lists = constructOneByOne(*graph, {0, 1, 2, 3, 4, 5});
    Legalizer legalizer(*graph, orders);
    for (int n = 0; n < 2000; ++n) {
      const auto rank = int32_t(random.below(graph->ranks));
      const int32_t length = lists.length[rank];
      const int64_t a = random.below(length), b = random.below(length),
                    first = std::min(a, b), last = std::max(a, b);
      RankLists whole = lists;
      TaskId *const list = whole.rank(rank);
      std::rotate(list + first, list + (a < b ? first + 1 : last),
                  list + last + 1);
      RankLists partly = whole;
      const Overflow overflow =
          random.below(2) ? Overflow::Defer : Overflow::Pull;
      const bool isLegal = legalizer.legalize(whole, rank, overflow);
      ASSERT_EQ(legalizer.legalize(partly, rank, overflow, 1, int32_t(first),
                                   int32_t(length - 1 - last)),
                isLegal);
      ASSERT_EQ(partly.tasks, whole.tasks);
      differ += whole.tasks != lists.tasks;
      if (isLegal)
        lists = std::move(whole);
    }
  }
  EXPECT_GT(differ, 500);
}

TEST(UnevenSearch, CurvesHaveCapsOfAllMicrobatches) {
  const Problem problem =
      withFactors(linearProblem(2, 3, {2, 2, 1, 1}), {5, 1, 2});
  SearchOptions options;
  options.effort = 3000;
  const MemoryCurve curve = searchMemoryCurve(problem, options, 8, search);
  ASSERT_GE(curve.points.size(), 2u);
  EXPECT_EQ(curve.leastBytes, 5);
  for (const CurvePoint &point : curve.points) {
    const Problem under = underCap(problem, point.capBytes);
    EXPECT_FALSE(checkSchedule(under, *point.result.schedule));
    EXPECT_LE(point.result.bound.ns, point.result.simulation.makespanNs);
  }
  EXPECT_EQ(curve.points.front().capBytes, 5);
}

TEST(UnevenSearch, SamplesScaleEachKindByOneFactor) {
  const Problem problem =
      withFactors(linearProblem(2, 3, {1000, 2000, 500}), {1, 3, 7});
  const Robustness robustness = {Robustness::Statistic::Mean, 20, 20};
  const Scenarios scenarios(problem, robustness, 7);
  bool differ = false;
  for (size_t n = 0; n < scenarios.size(); ++n)
    for (int32_t s = 0; s < 2; ++s) {
      auto ns = [&](ActionKind kind, int64_t i) {
        return scenarios[n].cost(s, kind, i).ns;
      };
      const int64_t forward = ns(ActionKind::Forward, 0);
      EXPECT_GE(forward, 800);
      EXPECT_LE(forward, 1200);
      EXPECT_NEAR(double(ns(ActionKind::Forward, 2)), 7.0 * double(forward), 7);
      EXPECT_EQ(ns(ActionKind::Backward, 1),
                ns(ActionKind::InputGrad, 1) + ns(ActionKind::WeightGrad, 1));
      differ |= forward != 1000;
    }
  EXPECT_TRUE(differ);
  SearchOptions options;
  options.effort = 500;
  options.robustness = robustness;
  const SearchResult found = search(problem, options);
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(checkSchedule(problem, *found.schedule));
  EXPECT_TRUE(found.robustNs);
}

/// The micro-batches whose tasks of a kind a replica runs, in their order.
std::vector<int64_t> orderOf(const Schedule &schedule, int32_t replica,
                             Done made) {
  std::vector<int64_t> order;
  for (Action action : schedule.all())
    if (action.isTask() && int32_t(action.subject) == replica &&
        (action.traits().makes & made))
      order.push_back(int64_t(action.index));
  return order;
}

/// Samples choose among schedules of families and of searches, which all keep
/// the order that is asked for.
TEST(UnevenSearch, RobustSearchesKeepTheOrder) {
  const std::vector<int64_t> lengths[] = {
      {7, 1, 3, 2}, {1, 9, 1, 9, 2}, {5, 4, 3, 2, 1}, {2, 3, 8, 1}};
  int inAnyOrder = 0;
  for (const std::vector<int64_t> &factors : lengths)
    for (OrderClass orders :
         {OrderClass::Index, OrderClass::Sums, OrderClass::WPerm}) {
      const auto count = int32_t(factors.size());
      const Problem problem =
          withFactors(linearProblem(3, count, {100, 150, 120, 1}), factors);
      SearchOptions options;
      options.timeLimitMs = 0;
      options.effort = 300;
      options.orders = orders;
      options.robustness = {Robustness::Statistic::Mean, 20, 10};
      const SearchResult found = search(problem, options);
      ASSERT_TRUE(found.schedule);
      EXPECT_FALSE(checkSchedule(problem, *found.schedule));
      EXPECT_FALSE(checkAccumulation(problem, *found.schedule));
      const std::vector<int32_t> &sums = found.schedule->accumulation;
      ASSERT_EQ(int32_t(sums.size()), count) << found.origin;
      if (!isOrderGiven(orders)) {
        inAnyOrder += !isIndexOrder(sums);
        continue;
      }
      EXPECT_TRUE(isIndexOrder(sums)) << found.origin;
      for (int32_t s = 0; s < problem.numStages(); ++s)
        for (Done made : {forwardDone, inputGradDone, weightGradDone}) {
          const std::vector<int64_t> order = orderOf(*found.schedule, s, made);
          EXPECT_TRUE((made != weightGradDone && orders == OrderClass::Sums) ||
                      std::is_sorted(order.begin(), order.end()))
              << found.origin;
        }
    }
  EXPECT_GT(inAnyOrder, 0);
}

} // namespace
