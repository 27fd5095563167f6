//===- ModelPlansTest.cpp - Plans of models -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelPlans.h"
#include "ChainExamples.h"
#include "planning/chain/ChainCosts.h"
#include "planning/model/GivenCuts.h"
#include "planning/model/ModelPlanner.h"
#include "planning/model/RecomputeToFit.h"

#include <gtest/gtest.h>

using namespace rondo;

namespace {

std::vector<int32_t> begins(const GivenCut &cut) {
  return std::get<std::vector<int32_t>>(cut);
}
std::string fault(const GivenCut &cut) { return std::get<std::string>(cut); }

TEST(GivenCuts, Counts) {
  EXPECT_EQ(begins(cutByCounts({2, 1, 3}, 6)), (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(fault(cutByCounts({2, 1}, 6)),
            "2 stages have 3 of 6 layers of the model");
  EXPECT_EQ(fault(cutByCounts({2, 5}, 6)),
            "2 stages have more than the 6 layers of the model");
  EXPECT_EQ(fault(cutByCounts({6, 0}, 6)), "stage 1 has no layer");
}

TEST(GivenCuts, WeightsAreSharesOfWork) {
  const std::vector<int64_t> even = {10, 10, 10, 10};
  EXPECT_EQ(begins(cutByWeights({1, 1}, even)), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(begins(cutByWeights({1, 3}, even)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(begins(cutByWeights({3, 1}, even)), (std::vector<int32_t>{0, 3}));
  // A heavy layer at the end, and a layer for each stage.
  EXPECT_EQ(begins(cutByWeights({1, 1}, {1, 1, 1, 30})),
            (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(begins(cutByWeights({1, 1, 1}, {30, 1, 1})),
            (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(fault(cutByWeights({1, 1, 1}, {1, 1})),
            "there are 3 weights, but only 2 layers");
}

TEST(GivenCuts, MegatronsLayouts) {
  EXPECT_EQ(begins(cutByLayout("E|t*3|t*2,L", 5)),
            (std::vector<int32_t>{0, 1, 4}));
  EXPECT_EQ(begins(cutByLayout("Et|(tt|)*2 L", 5)),
            (std::vector<int32_t>{0, 2, 4, 6}));
  EXPECT_EQ(fault(cutByLayout("Et*3L", 5)),
            "there are 3 t, but the model has 5 blocks");
  EXPECT_EQ(fault(cutByLayout("t*5EL", 5)),
            "E, the embedding, must come first, and once");
  EXPECT_EQ(fault(cutByLayout("Et*5", 5)),
            "L, the head, must come last, and once");
  EXPECT_EQ(fault(cutByLayout("Et*5||L", 5)), "stage 1 has no layer");
  EXPECT_EQ(fault(cutByLayout("E(t(t)*2)L", 5)),
            "a group within a group at character 4");
  EXPECT_EQ(fault(cutByLayout("Et*L", 5)),
            "* at character 3 needs a number of 1 or more");
  EXPECT_EQ(fault(cutByLayout("E(t*90000)*90000L", 5)),
            "there are more than 100000 letters");
  EXPECT_EQ(fault(cutByLayout("Ex", 5)),
            "'x' at character 2 is not one of E, t, L, | and ( )");
  EXPECT_EQ(fault(cutByLayout("", 5)),
            "E, the embedding, must come first, and once");
}

/// Twelve samples, three layers.
ChainProblem ofSamples() {
  ChainProblem problem = equalDevices(8, 1000);
  problem.microbatches = 4;
  problem.samples = 12;
  for (int l = 0; l < 3; ++l) {
    ChainLayer &layer = problem.layers.emplace_back();
    layer.forwardNs = 1200;
    layer.backwardNs = 2400;
    layer.outputBytes = l < 2 ? 120000 : 0;
    layer.stashBytes = 36000;
    layer.workingBytes = 12000;
    layer.stateBytes = 5000;
  }
  return problem;
}

TEST(ChainCosts, SamplesAreNotCut) {
  const ChainProblem problem = ofSamples();
  const ChainCosts costs(problem);
  EXPECT_EQ(costs.forwardNs(0, 1, 4), 300);
  // The fullest of five devices has three of twelve samples.
  EXPECT_EQ(costs.forwardNs(0, 1, 5), 300);
  EXPECT_EQ(costs.forwardNs(0, 1, 12), 100);
  EXPECT_EQ(costs.forwardNs(0, 1, 20), 100);
  // From two devices to four, each message has three samples.
  EXPECT_EQ(costs.messageNs(1, 2, 4, 1000, 7), 7 + 30000);
  EXPECT_EQ(costs.messageNs(1, 1, 1, 1000, 0), 120000);
  // State, two micro-batches of stash and inputs, and the working memory.
  EXPECT_EQ(costs.memoryBytes(1, 2, 2, 1),
            5000 + 2 * (36000 + 120000) / 2 + 12000 / 2);
}

TEST(ChainCosts, FewestDevicesAreThoseThatTryingFinds) {
  ChainProblem problem = ofSamples();
  for (int64_t samples : {0, 1, 7, 12}) {
    problem.samples = samples;
    const ChainCosts costs(problem);
    for (int64_t bytes = 4000; bytes < 700000; bytes += 4321) {
      std::optional<int64_t> fewest;
      for (int32_t devices = 1; !fewest && devices <= 2000; ++devices)
        if (costs.memoryBytes(0, 2, devices, 2) <= bytes)
          fewest = devices;
      const std::optional<int64_t> found = costs.devicesFor(0, 2, 2, bytes);
      if (fewest || (found && *found <= 2000)) {
        EXPECT_EQ(found, fewest) << samples << " samples, " << bytes;
      }
    }
  }
}

TEST(ModelPlans, RanksBeyondTheSamplesStayIdle) {
  const ModelPlan plan = modelPlanOf({{0, 1, {4, 2, 0}}, {1, 3, {1}}}, 2, 2,
                                     {{false, true, true}});
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].devices, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(plan.numRanks(), 3);
  // A stage that takes whole micro-batches has one replica.
  const ModelPlan whole = modelPlanOf({{0, 1, {4, 2, 0}}, {1, 3, {1}}}, 2, 1,
                                      {{false, true, true}});
  EXPECT_EQ(whole.stages[0].devices, (std::vector<int32_t>{0}));
  EXPECT_EQ(whole.samples, 2);
}

TEST(ModelPlans, ChunksKeepGroupsAndBalanceThem) {
  ChainProblem chain = ofSamples();
  for (int l = 0; l < 5; ++l)
    chain.layers.push_back(chain.layers[1]);
  std::swap(chain.layers[2], chain.layers.back());
  ModelPlan plan = modelPlanOf({{0, 4, {0, 1}}, {4, 8, {2, 3}}}, 12, 12,
                               {std::vector<bool>(8)});
  const std::optional<ChunkedPlan> inLoop = inChunks(plan, chain, {2, false});
  ASSERT_TRUE(inLoop);
  const ModelPlan *looped = &inLoop->plan;
  // Eight layers of 1,800 ns on two groups of two devices.
  EXPECT_EQ(inLoop->busiestNs, 4 * 1800);
  EXPECT_EQ(looped->numGroups(), 2);
  ASSERT_EQ(looped->stages.size(), 4u);
  EXPECT_EQ(looped->stages[2].devices, plan.stages[0].devices);
  EXPECT_EQ(looped->stages[3].devices, plan.stages[1].devices);
  const std::optional<ChunkedPlan> asV = inChunks(plan, chain, {2, true});
  ASSERT_TRUE(asV);
  const ModelPlan *inV = &asV->plan;
  EXPECT_EQ(inV->stages[2].devices, plan.stages[1].devices);
  EXPECT_EQ(inV->stages[3].devices, plan.stages[0].devices);
  for (const ModelPlan &each : {*looped, *inV})
    for (int32_t group = 0; group < 2; ++group) {
      int32_t layers = 0;
      for (const ChainStage &stage : each.stages)
        if (stage.devices == plan.stages[group].devices)
          layers += stage.end - stage.first;
      EXPECT_EQ(layers, 4);
    }
  EXPECT_FALSE(inChunks(plan, chain, {5, false}));
}

/// Eight layers on two groups of two devices, in a V.
struct RecomputedV {
  RecomputeCosts costs;
  ModelPlan plan;

  RecomputedV() {
    costs.kept = ofSamples();
    costs.kept.layers.resize(8, costs.kept.layers.front());
    for (ChainLayer &layer : costs.kept.layers)
      layer.outputBytes = 0;
    costs.recomputed = costs.kept;
    for (ChainLayer &layer : costs.recomputed.layers) {
      layer.backwardNs += layer.forwardNs;
      layer.workingBytes += layer.stashBytes;
      layer.stashBytes = 0;
    }
    plan.samples = 12;
    plan.chunks = 2;
    plan.isV = true;
    plan.stages = {
        {0, 2, {0, 1}}, {2, 4, {2, 3}}, {4, 6, {2, 3}}, {6, 8, {0, 1}}};
    plan.recomputes.assign(8, false);
  }
};

TEST(RecomputeToFit, TheFirstLayersOfGroupsThatLackMemory) {
  const RecomputedV v;
  // The first group holds four micro-batches of its four layers, of 18,000
  // bytes each on a device. It lacks as much as one of its layers holds.
  const Misfit misfit{"v-half", 100000, {288000, 288000}, {72000, -1}};
  const std::optional<ModelPlan> more =
      recomputeMore(v.plan, {misfit}, v.costs, infinite);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->recomputes, (std::vector<bool>{true, false, false, false,
                                                 false, false, false, false}));
  EXPECT_EQ(more->stages, v.plan.stages);
  // With a byte more, two layers.
  const std::optional<ModelPlan> two =
      recomputeMore(v.plan, {{"v-half", 100000, {288000, 288000}, {72001, -1}}},
                    v.costs, infinite);
  ASSERT_TRUE(two);
  EXPECT_EQ(std::count(two->recomputes.begin(), two->recomputes.end(), true),
            2);
}

TEST(RecomputeToFit, FollowsTheScheduleThatStaysFastest) {
  const RecomputedV v;
  // A layer recomputed takes 600 ns longer for each of four micro-batches.
  const Misfit quick{"zbv", 100000, {288000, 288000}, {1, 280000}},
      slow{"v-half", 102000, {288000, 288000}, {1, -1}};
  const std::optional<ModelPlan> more =
      recomputeMore(v.plan, {quick, slow}, v.costs, infinite);
  ASSERT_TRUE(more);
  EXPECT_EQ(std::count(more->recomputes.begin(), more->recomputes.end(), true),
            1);
  EXPECT_FALSE(recomputeMore(v.plan, {quick, slow}, v.costs, 104400));
  EXPECT_TRUE(recomputeMore(v.plan, {quick, slow}, v.costs, 104401));
}

TEST(RecomputeToFit, NothingIfAllIsRecomputed) {
  RecomputedV v;
  v.plan.recomputes.assign(8, true);
  const Misfit misfit{"v-half", 100000, {288000, 288000}, {1, -1}};
  EXPECT_FALSE(recomputeMore(v.plan, {misfit}, v.costs, infinite));
  EXPECT_FALSE(recomputeMore(v.plan, {}, v.costs, infinite));
}

TEST(RecomputeToFit, ChunksRecomputeTheFirstLayersOnly) {
  RecomputedV v;
  // Less than all activations in flight need.
  v.costs.kept.memoryBytes = v.costs.recomputed.memoryBytes = 130000;
  const std::optional<ModelPlan> cut =
      inChunksThatFit(v.plan, v.costs, {2, true}, 1);
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->recomputes.front());
  EXPECT_FALSE(cut->recomputes.back());
  EXPECT_TRUE(std::is_sorted(cut->recomputes.rbegin(), cut->recomputes.rend()));
  // With room for all, none.
  v.costs.kept.memoryBytes = v.costs.recomputed.memoryBytes = 10000000;
  const std::optional<ModelPlan> roomy =
      inChunksThatFit(v.plan, v.costs, {2, true}, 1);
  ASSERT_TRUE(roomy);
  EXPECT_FALSE(roomy->recomputes.front());
  v.costs.kept.memoryBytes = v.costs.recomputed.memoryBytes = 1000;
  EXPECT_FALSE(inChunksThatFit(v.plan, v.costs, {2, true}, 1));
}

} // namespace
