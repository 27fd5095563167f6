//===- BaselinesTest.cpp - Published planners, reimplemented --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/Baselines.h"
#include "planning/chain/ChainPlanner.h"
#include "test/unit/planning/ChainExamples.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace rondo;

namespace {

/// A baseline's plan, by its name in the table.
BaselinePlan planOf(const char *name, const ChainProblem &problem,
                    PlanEvaluator evaluator = PlanEvaluator::OneFOneB) {
  for (const Baseline &baseline : baselines())
    if (std::strcmp(baseline.name, name) == 0)
      return baseline.plan(problem, evaluator);
  ADD_FAILURE() << "no baseline " << name;
  return {};
}

void expectValid(const ChainProblem &problem, const ChainPlan &plan) {
  std::vector<bool> isUsed(problem.numDevices(), false);
  int32_t layer = 0;
  for (const ChainStage &stage : plan) {
    EXPECT_EQ(stage.first, layer);
    EXPECT_GT(stage.end, stage.first);
    EXPECT_FALSE(stage.devices.empty());
    for (int32_t device : stage.devices) {
      ASSERT_GE(device, 0);
      ASSERT_LT(device, problem.numDevices());
      EXPECT_FALSE(isUsed[device]) << "device " << device;
      isUsed[device] = true;
    }
    layer = stage.end;
  }
  EXPECT_EQ(layer, problem.numLayers());
}

TEST(Baselines, HaveValidPlans) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const auto layers = static_cast<int32_t>(1 + random() % 12),
               devices = static_cast<int32_t>(1 + random() % 9);
    const ChainProblem problem = randomChain(random, layers, devices);
    for (const TimedBaseline &row :
         runBaselines(problem, allPlanEvaluators[i % 3])) {
      SCOPED_TRACE(std::string(row.baseline->name) + ", problem " +
                   std::to_string(i));
      if (!row.found.plan) {
        EXPECT_STREQ(row.baseline->name, "hetpipe-like");
        EXPECT_FALSE(row.found.whyNot.empty());
        continue;
      }
      expectValid(problem, *row.found.plan);
      EXPECT_EQ(row.timeNs,
                timeOf(problem, allPlanEvaluators[i % 3], *row.found.plan));
      EXPECT_EQ(row.memoryBytes, memoryOf(problem, *row.found.plan));
    }
  }
}

/// If all plans are tried, no baseline's plan can be better.
TEST(Baselines, AreNotBelowThePlanner) {
  std::mt19937 random(12);
  for (int i = 0; i < 45; ++i) {
    ChainProblem problem =
        randomChain(random, static_cast<int32_t>(1 + random() % 9),
                    static_cast<int32_t>(1 + random() % 8));
    ChainPlannerOptions options;
    options.evaluator = allPlanEvaluators[i % 3];
    options.effort = 60;
    options.timeLimitMs = 0;
    // Every other one has little memory.
    if (i % 2 == 1) {
      const ChainPlannerResult free = planChain(problem, options);
      problem.memoryBytes = free.memoryBytes * 9 / 10;
    }
    const ChainPlannerResult result = planChain(problem, options);
    if (!result.plan)
      continue;
    for (const TimedBaseline &row : runBaselines(problem, options.evaluator))
      if (row.fits(problem)) {
        EXPECT_GE(row.timeNs, result.timeNs)
            << row.baseline->name << ", problem " << i;
      }
  }
}

TEST(Baselines, DataParallelTakesAllDevices) {
  ChainProblem problem = equalDevices(4, 1000);
  problem.microbatches = 3;
  problem.latencyInsideNs = 5;
  problem.layers = {{"a", 10, 21, 0, 0, 100}, {"b", 3, 6, 0, 0, 50}};
  const BaselinePlan found = planOf("data-parallel", problem);
  EXPECT_EQ(*found.plan, (ChainPlan{{0, 2, {0, 1, 2, 3}}}));
  // 3 micro-batches of ceil(13 / 4) + ceil(27 / 4); 6 latencies and
  // ceil(6 * 150 * 1000 / (4 * 1000)).
  EXPECT_EQ(timeOf(problem, PlanEvaluator::OneFOneB, *found.plan),
            3 * (4 + 7) + 30 + 225);
}

TEST(Baselines, GPipesGreatestStageIsLeast) {
  std::mt19937 random(13);
  for (int i = 0; i < 40; ++i) {
    const ChainProblem problem =
        randomChain(random, static_cast<int32_t>(3 + random() % 5), 3);
    const ChainCosts costs(problem);
    auto greatest = [&](const ChainPlan &plan) {
      int64_t most = 0;
      for (const ChainStage &stage : plan)
        most = std::max(most, costs.forwardNs(stage.first, stage.end) +
                                  costs.backwardNs(stage.first, stage.end));
      return most;
    };
    int64_t least = infinite;
    EveryPlan(problem, [&](const ChainPlan &plan) {
      if (plan.size() == 3)
        least = std::min(least, greatest(plan));
    });
    EXPECT_EQ(greatest(*planOf("gpipe", problem).plan), least);
  }
}

TEST(Baselines, CutLayersEvenly) {
  ChainProblem problem = equalDevices(4, 1);
  for (int l = 0; l < 10; ++l)
    problem.layers.push_back({"l", 1, 1});
  EXPECT_EQ(*planOf("torchtitan", problem).plan,
            (ChainPlan{{0, 3, {0}}, {3, 6, {1}}, {6, 8, {2}}, {8, 10, {3}}}));
  EXPECT_EQ(*planOf("megatron", problem).plan,
            (ChainPlan{{0, 2, {0}}, {2, 5, {1}}, {5, 7, {2}}, {7, 10, {3}}}));
  // Both go from server to server, GPipe by number.
  problem.nodeOf = {0, 1, 0, 1};
  EXPECT_EQ(planOf("megatron", problem).plan->at(1).devices.front(), 2);
  EXPECT_EQ(planOf("torchtitan", problem).plan->at(1).devices.front(), 2);
  EXPECT_EQ(planOf("gpipe", problem).plan->at(1).devices.front(), 1);
  problem.nodeOf = {0, 0, 0, 0};
  // With fewer layers than devices, stages have several.
  problem.layers.resize(3);
  EXPECT_EQ(*planOf("megatron", problem).plan,
            (ChainPlan{{0, 1, {0, 1}}, {1, 3, {2, 3}}}));
}

TEST(Baselines, HetPipeNeedsEqualServers) {
  ChainProblem problem = equalDevices(4, 1);
  problem.layers = {{"a", 4, 8}, {"b", 4, 8}};
  problem.nodeOf = {0, 1, 0, 1};
  EXPECT_EQ(*planOf("hetpipe-like", problem).plan,
            (ChainPlan{{0, 1, {0, 1}}, {1, 2, {2, 3}}}));
  problem.nodeOf = {0, 1, 0, 0};
  EXPECT_EQ(planOf("hetpipe-like", problem).whyNot,
            "servers have 3 and 1 devices");
}

/// The least workload has three stages, the least time two.
TEST(Baselines, SppTakesTheLeastTime) {
  const ChainProblem problem = twoServers();
  const BaselinePlan found = planOf("spp", problem, PlanEvaluator::Spp);
  EXPECT_EQ(*found.plan, (ChainPlan{{0, 4, {0, 2}}, {4, 6, {1, 3}}}));
  EXPECT_NEAR(timeOf(problem, PlanEvaluator::Spp, *found.plan),
              49 * twoServersUnit, 40);
}

TEST(Baselines, LargeProblemsAreLeftToOthers) {
  ChainProblem problem = equalDevices(65, 1);
  problem.layers = {{"a", 4, 8}, {"b", 4, 8}};
  const BaselinePlan found = planOf("spp", problem, PlanEvaluator::Spp);
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(found.whyNot,
            "2 layers on 65 devices are too many for its program");
}

} // namespace
