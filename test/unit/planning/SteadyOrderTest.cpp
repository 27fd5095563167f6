//===- SteadyOrderTest.cpp - Zigzags and orders that repeat ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/SteadyOrder.h"

#include "ChainExamples.h"
#include "planning/model/Zigzag.h"
#include "schedule/rules/Legality.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

using namespace rondo;

namespace {

constexpr int64_t mebi = int64_t(1) << 20;
constexpr int32_t blocks = 80, groupSize = 4;
constexpr int64_t forwardNs = 38'200'000, inputGradNs = 42'370'000,
                  weightGradNs = 35'420'000, headNs = 43'500'000,
                  heldBytes = 2146 * mebi, stateBytes = 14688 * mebi,
                  inputBytes = 128 * mebi;

/// Llama 3 70B in sequences of 8,192 tokens on 128 H100, by its figures.
RecomputeCosts llama70B() {
  ChainProblem kept = equalDevices(128, 50000);
  kept.microbatches = 256;
  kept.samples = groupSize;
  kept.memoryBytes = 80'000'000'000;
  for (int32_t l = 0; l < blocks + 2; ++l) {
    ChainLayer &layer = kept.layers.emplace_back();
    const bool isHead = l == blocks + 1;
    if (l == 0 || isHead) {
      layer.stateBytes = 18036 * mebi;
      layer.forwardNs = isHead ? groupSize * headNs : 0;
      layer.backwardNs = 2 * layer.forwardNs;
    } else {
      layer.stateBytes = stateBytes;
      layer.stashBytes = groupSize * heldBytes;
      layer.forwardNs = groupSize * forwardNs;
      layer.backwardNs = groupSize * (inputGradNs + weightGradNs);
    }
    layer.outputBytes = isHead ? 0 : groupSize * inputBytes;
  }
  ChainProblem recomputed = kept;
  for (int32_t l = 1; l <= blocks; ++l) {
    ChainLayer &layer = recomputed.layers[l];
    layer.backwardNs += layer.forwardNs;
    layer.workingBytes = layer.stashBytes;
    layer.stashBytes = 0;
  }
  return {std::move(kept), std::move(recomputed)};
}

std::vector<ModelPlan> zigzagsOf(const RecomputeCosts &costs,
                                 int64_t ceilingNs) {
  ModelPlan one;
  one.samples = groupSize;
  one.stages = {{0, blocks + 2, {0, 1, 2, 3}}};
  return zigzags(evenGroups(one, costs.kept), costs, ceilingNs);
}

/// The problem of the groups, each as one rank.
Problem problemOf(const ModelPlan &plan) {
  const std::vector<int32_t> firsts = plan.firstStages();
  Problem problem;
  problem.name = "zigzag";
  problem.microbatches = 256;
  problem.memoryCaps.assign(firsts.size(), 80'000'000'000);
  std::map<std::vector<int32_t>, int32_t> groupOf;
  for (int32_t first : firsts)
    groupOf.emplace(plan.stages[first].devices,
                    static_cast<int32_t>(groupOf.size()));
  for (const ChainStage &stage : plan.stages)
    problem.replicas.addStage(groupOf.at(stage.devices));
  std::vector<int64_t> output(plan.stages.size(), inputBytes);
  output.back() = 0;
  problem.makeChain(output);
  problem.link = {20000, 50000};
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const ChainStage &stage = plan.stages[s];
    const auto number = static_cast<int32_t>(s);
    const bool hasHead = stage.end == blocks + 2,
               hasBlock = stage.first <= blocks && stage.end > 1;
    int64_t f = 0, i = 0, w = 0, held = inputBytes;
    if (hasBlock) {
      f += forwardNs, i += inputGradNs, w += weightGradNs, held += heldBytes;
      problem.memoryCaps[problem.rankOf(number)] -= stateBytes;
    }
    if (hasHead)
      f += headNs, i += headNs, w += headNs;
    if (hasHead || stage.first == 0)
      problem.memoryCaps[problem.rankOf(number)] -= 18036 * mebi;
    problem.setStageCost(number, f, i, w, held, 0);
    if (plan.recomputes[stage.end - 1 - (hasHead ? 1 : 0)])
      problem.setRecomputation(number, Recomputation::FromCheckpoint, forwardNs,
                               heldBytes, 0);
  }
  return problem;
}

TEST(Zigzag, FullGroupsKeepTheLastLayers) {
  const RecomputeCosts costs = llama70B();
  const std::vector<ModelPlan> plans = zigzagsOf(costs, infinite);
  ASSERT_FALSE(plans.empty());
  // 16 of 32 groups have three blocks and keep two of them; the last group has
  // the head and two more, and the others recompute all of theirs.
  const ModelPlan &plan = plans.front();
  std::map<std::vector<int32_t>, int32_t> kept, recomputed;
  int32_t end = 0;
  for (const ChainStage &stage : plan.stages) {
    EXPECT_EQ(stage.first, end);
    end = stage.end;
    for (int32_t layer = stage.first; layer < stage.end; ++layer)
      if (layer >= 1 && layer <= blocks)
        ++(plan.recomputes[layer] ? recomputed : kept)[stage.devices];
  }
  EXPECT_EQ(end, blocks + 2);
  EXPECT_EQ(plan.numGroups(), 32);
  std::multiset<std::pair<int32_t, int32_t>> found, expected;
  for (int32_t first : plan.firstStages())
    found.emplace(kept[plan.stages[first].devices],
                  recomputed[plan.stages[first].devices]);
  for (int32_t k = 0; k < 16; ++k)
    expected.emplace(2, 1);
  for (int32_t k = 0; k < 15; ++k)
    expected.emplace(0, 2);
  expected.emplace(2, 0);
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(std::is_sorted(plan.recomputes.begin() + 1, plan.recomputes.end(),
                             std::greater<>()));
}

TEST(Zigzag, NoneBeyondTheCeilingOrOfUnequalBlocks) {
  RecomputeCosts costs = llama70B();
  // The busiest group has three blocks, one of them recomputed.
  const int64_t busiest =
      256 * (3 * (forwardNs + inputGradNs + weightGradNs) + forwardNs);
  EXPECT_FALSE(zigzagsOf(costs, busiest + 1).empty());
  EXPECT_TRUE(zigzagsOf(costs, busiest).empty());
  costs.kept.layers[7].forwardNs += 1;
  EXPECT_TRUE(zigzagsOf(costs, infinite).empty());
}

TEST(SteadyOrder, KeepsAllRulesAndNearlyThePeriodOfTheBusiestRank) {
  const ModelPlan plan = zigzagsOf(llama70B(), infinite).front();
  const Problem problem = problemOf(plan);
  ASSERT_FALSE(problem.check());
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 3000;
  const SearchResult found = searchSteady(problem, options);
  ASSERT_TRUE(found.schedule);
  Simulation simulation;
  EXPECT_FALSE(checkAndSimulate(problem, *found.schedule, simulation));
  EXPECT_FALSE(checkAccumulation(problem, *found.schedule));
  EXPECT_EQ(simulation.makespanNs, found.simulation.makespanNs);
  // The busiest rank alone takes 98.9 s; with all blocks recomputed, three
  // blocks a group would take 118.5 s.
  const int64_t busiest = *std::max_element(simulation.rankWorkNs.begin(),
                                            simulation.rankWorkNs.end());
  EXPECT_LT(double(simulation.makespanNs), 1.17 * double(busiest));
  // The estimate is that of the best of the first timetables.
  EXPECT_GT(steadyEstimateNs(problem, options),
            0.98 * double(simulation.makespanNs));
  EXPECT_EQ(searchSteady(problem, options).simulation.makespanNs,
            simulation.makespanNs);
}

TEST(SteadyOrder, SaysWhatMemoryLacks) {
  Problem problem = problemOf(zigzagsOf(llama70B(), infinite).front());
  for (int64_t &cap : problem.memoryCaps)
    cap /= 4;
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 1;
  const SearchResult found = searchSteady(problem, options);
  EXPECT_FALSE(found.schedule);
  ASSERT_TRUE(found.fault);
  EXPECT_EQ(found.fault->rule, Rule::Memory);
}

} // namespace
