//===- UnequalDevicesTest.cpp - Plans of devices that differ --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChainExamples.h"

#include "planning/chain/ChainPlanner.h"
#include "planning/chain/OrderedGroups.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace rondo;

namespace {

/// Devices of three speeds, and of memories around what plans need.
ChainProblem unequalChain(std::mt19937 &random, int32_t layers,
                          int32_t devices) {
  ChainProblem problem = randomChain(random, layers, devices);
  for (int32_t d = 0; d < devices; ++d)
    problem.speedPercent.push_back(
        std::vector<int64_t>{250, 100, 60}[random() % 3]);
  if (random() % 2 == 0)
    return problem;
  const ChainCosts costs(problem);
  const int64_t all = costs.memoryBytes(0, layers, 1, 0);
  problem.memoryBytes = all * int64_t(60 + random() % 60) / 100;
  for (int32_t d = 0; d < devices; ++d)
    problem.memoryLess.push_back(problem.memoryBytes * int64_t(random() % 70) /
                                 100);
  problem.memoryLess[random() % devices] = 0;
  return problem;
}

TEST(UnequalDevices, TheSlowestAndSmallestOfAGroupCount) {
  ChainProblem problem = equalDevices(3, 1000);
  problem.layers = {{"a", 1000, 2000, 0, 100, 10, 40}};
  problem.speedPercent = {200, 100, 50};
  problem.memoryBytes = 1000;
  problem.memoryLess = {0, 300, 100};
  std::vector<StageNs> times;
  WorkingPlan fast(problem, {{0, 1, {0}}}), mixed(problem, {{0, 1, {0, 2}}}),
      all(problem, {{0, 1, {0, 1, 2}}});
  fast.times(problem, ChainCosts(problem), times);
  EXPECT_EQ(times[0].forward, 500);
  EXPECT_EQ(times[0].backward, 1000);
  mixed.times(problem, ChainCosts(problem), times);
  EXPECT_EQ(times[0].forward, 1000);
  EXPECT_EQ(mixed.memoryBytes(ChainCosts(problem)), 40 + 50);
  EXPECT_EQ(mixed.neededBytes(problem, ChainCosts(problem)), 40 + 50 + 100);
  EXPECT_EQ(all.neededBytes(problem, ChainCosts(problem)), 40 + 34 + 300);
}

TEST(UnequalDevices, OrderedGroupsKnowTheWeakest) {
  std::mt19937 random(5);
  for (int32_t unit : {1, 2}) {
    const ChainProblem problem = unequalChain(random, 2, 8);
    std::vector<int32_t> order(8);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const OrderedGroups groups(problem, order, unit);
    for (int32_t first = 0; first < groups.numUnits(); ++first)
      for (int32_t end = first + 1; end <= groups.numUnits(); ++end) {
        const std::vector<int32_t> devices = groups.devices(first, end);
        const GroupDevice weakest = weakestOf(
            problem, devices.data(), static_cast<int32_t>(devices.size()));
        EXPECT_EQ(groups.weakest(first, end).speedPercent,
                  weakest.speedPercent);
        EXPECT_EQ(groups.weakest(first, end).memoryLess, weakest.memoryLess);
      }
  }
}

/// Least time of all plans that fit every device.
int64_t leastOfUnequal(const ChainProblem &problem, PlanEvaluator evaluator) {
  int64_t least = infinite;
  const ChainCosts costs(problem);
  EveryPlan(problem, [&](const ChainPlan &plan) {
    if (problem.memoryBytes > 0)
      for (size_t n = 0; n < plan.size(); ++n)
        for (int32_t device : plan[n].devices)
          if (costs.memoryBytes(plan[n].first, plan[n].end,
                                static_cast<int32_t>(plan[n].devices.size()),
                                static_cast<int32_t>(plan.size() - 1 - n)) >
              problem.memoryBytes -
                  (problem.memoryLess.empty() ? 0 : problem.memoryLess[device]))
            return;
    least = std::min(least, timeOf(problem, evaluator, plan));
  });
  return least;
}

TEST(UnequalDevices, PlansAreOptimalAndBoundsHold) {
  std::mt19937 random(7);
  int infeasible = 0, proven = 0;
  for (int k = 0; k < 150; ++k) {
    ChainProblem problem =
        unequalChain(random, 1 + random() % 4, 1 + random() % 4);
    if (random() % 3 == 0)
      problem.samples = 1 + random() % 6;
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      const int64_t least = leastOfUnequal(problem, evaluator);
      ChainPlannerOptions options;
      options.evaluator = evaluator;
      options.timeLimitMs = 0;
      options.effort = 5;
      const ChainPlannerResult found = planChain(problem, options);
      if (least == infinite) {
        ++infeasible;
        EXPECT_FALSE(found.plan);
        ASSERT_TRUE(found.fault);
        EXPECT_TRUE(found.fault->kind == FaultKind::NoPlanFits ||
                    found.fault->kind == FaultKind::PlanShortOfMemory);
        continue;
      }
      ASSERT_TRUE(found.plan) << k;
      EXPECT_EQ(found.timeNs, least) << k;
      EXPECT_EQ(found.timeNs, timeOf(problem, evaluator, *found.plan));
      EXPECT_LE(found.lowerBoundNs, least);
      proven += found.lowerBoundNs == least;
    }
  }
  EXPECT_GT(infeasible, 10);
  EXPECT_GT(proven, 300);
}

TEST(UnequalDevices, FastDevicesGetMoreLayers) {
  ChainProblem problem = equalDevices(4, 1'000'000);
  problem.microbatches = 32;
  for (int l = 0; l < 12; ++l)
    problem.layers.push_back(
        {"l", 1000, 2000, l < 11 ? 10 : 0, 10, 1'000'000'000});
  // Worth 2 + 2 + 1 + 1 devices: 4, 4, 2 and 2 layers.
  problem.speedPercent = {100, 200, 100, 200};
  ChainPlannerOptions options;
  options.timeLimitMs = 0;
  options.effort = 50;
  const ChainPlannerResult found = planChain(problem, options);
  ASSERT_TRUE(found.plan);
  for (const ChainStage &stage : *found.plan) {
    ASSERT_EQ(stage.devices.size(), 1u);
    EXPECT_EQ(stage.end - stage.first,
              problem.speedPercent[stage.devices[0]] == 200 ? 4 : 2);
  }
}

} // namespace
