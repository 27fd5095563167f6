//===- FewResidenciesTest.cpp - Plans that few residencies fit ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/FittingGathers.h"
#include "planning/gathers/ResidencyTrial.h"
#include "test/unit/planning/ShardedPlan.h"
#include "test/unit/schedule/Examples.h"

#include "schedule/simulate/Simulator.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Expects that the arenas of all equal numbers of chunks exceed a device, and
/// those of one micro-batch at a time none.
void expectOnlyMicrobatchesFit(const PlanFigures &plan, const Problem &problem,
                               const Schedule &tasks, int32_t chunks) {
  const std::vector<int64_t> nothing(problem.numRanks(), 0);
  auto excessWith = [&](Residency residency) {
    return excessOver(
        plan.devices,
        arenasOf(plan, problem, placeGathers(problem, tasks, {residency})));
  };
  for (int32_t weights = 1; weights <= chunks; ++weights)
    for (int32_t gradients = 1; gradients <= chunks; ++gradients)
      EXPECT_NE(excessWith({weights, gradients}), nothing);
  EXPECT_EQ(excessWith({0, 0}), nothing);
}

/// One chunk at a time holds gradients between tasks, and large activations
/// leave no memory for these.
TEST(Fitting, OnlyOneMicrobatchAtATimeFits) {
  const Problem problem = shardedChain(2, 3, 2, 6);
  const Schedule tasks = tasksOf(problem, "interleaved-1f1b");
  PlanFigures plan = shardedFigures(problem);
  for (ReplicaBuffers &buffers : plan.buffers)
    buffers[int(BufferKind::SavedForInputGrad)] = 4096;
  const Residencies each = {{0, 0}};
  plan.devices = arenasOf(plan, problem, placeGathers(problem, tasks, each));
  expectOnlyMicrobatchesFit(plan, problem, tasks, 3);
  const PlanArenas arenas(plan, problem);
  const FittingResidencies chosen = chooseFitting(problem, tasks, arenas);
  EXPECT_EQ(chosen.residencies, each);
  const Residencies fastest = chooseResidencies(problem, tasks);
  const std::vector<int64_t> excess =
      excessOver(plan.devices, arenasOf(plan, problem,
                                        placeGathers(problem, tasks, fastest)));
  const auto worst = std::max_element(excess.begin(), excess.end());
  ASSERT_TRUE(chosen.lack);
  EXPECT_EQ(chosen.lack->fastest, fastest);
  EXPECT_EQ(chosen.lack->rank, worst - excess.begin());
  EXPECT_EQ(chosen.lack->bytes, *worst);
  // A number that is stated stays, and then nothing fits.
  const FittingResidencies fixed =
      chooseFitting(problem, tasks, arenas, [](Residencies residencies) {
        for (Residency &one : residencies)
          one.gradients = 1;
        return residencies;
      });
  for (const Residency &one : fixed.residencies)
    EXPECT_EQ(one.gradients, 1);
  // A byte less, and nothing fits: the residencies with the fewest missing
  // bytes.
  for (int64_t &bytes : plan.devices)
    --bytes;
  const FittingResidencies least = chooseFitting(problem, tasks, arenas);
  EXPECT_EQ(least.residencies, each);
  EXPECT_FALSE(least.lack);
}

/// The same without arenas: only one micro-batch at a time keeps the caps.
TEST(Fitting, OnlyOneMicrobatchAtATimeKeepsTheCaps) {
  Problem problem = shardedChain(2, 1, 2, 6);
  const Schedule tasks = tasksOf(problem, "zb-h1");
  auto peaksWith = [&](Residency residency) {
    return simulate(problem, placeGathers(problem, tasks, {residency}))
        .peakBytes;
  };
  problem.memoryCaps = peaksWith({0, 0});
  ASSERT_EQ(excessOver(problem.memoryCaps, peaksWith({1, 1})),
            std::vector<int64_t>(4, 16));
  EXPECT_EQ(chooseResidencies(problem, tasks), (Residencies{{0, 0}}));
  EXPECT_EQ(judge(problem, withGathers(problem, tasks)), "");
}

/// Two ranks run two stages in opposite orders, so that no residencies run:
/// each rank gathers first what the other gathers last.
TEST(Residencies, NoNumbersRun) {
  Problem problem;
  problem.microbatches = 1;
  problem.samples = 2;
  problem.memoryCaps.assign(2, noMemoryCap);
  for (int32_t stage = 0; stage < 2; ++stage)
    problem.replicas.addStage({{0, 1}, {1, 1}}, 2);
  problem.link = {0, 1000};
  for (int32_t stage = 0; stage < 2; ++stage) {
    problem.setStageCost(stage, 1200, 1600, 800, 96, 32);
    problem.setShards(stage, ShardedState::Weights, wholeBytes, wholeBytes);
  }
  problem.makeGraph({{}, {}}, {0, 0});
  ASSERT_FALSE(problem.check());
  const Schedule tasks = scheduleOf({"0F0 2F0 2B0 0B0", "3F0 1F0 1B0 3B0"});
  ASSERT_EQ(checkCompleteness(problem, tasks), std::nullopt);
  for (int32_t whole : {0, 1, 2})
    ASSERT_FALSE(tryResidencies(problem, tasks, {{whole, whole}}));
  EXPECT_EQ(chooseResidencies(problem, tasks), (Residencies{{2, 1}}));
  const FittingResidencies fixed =
      chooseFitting(problem, tasks, {}, [](Residencies residencies) {
        for (Residency &one : residencies)
          one.gradients = 2;
        return residencies;
      });
  EXPECT_EQ(fixed.residencies, (Residencies{{2, 2}}));
  EXPECT_FALSE(fixed.lack);
  // Nothing is moved either.
  int64_t trials = 10;
  EXPECT_EQ(improveResidencies(
                problem, tasks, {{2, 1}}, [](const Schedule &) { return true; },
                trials),
            (Residencies{{2, 1}}));
  EXPECT_EQ(trials, 9);
}

/// Slots leave smaller gaps if both chunks of a rank hold gradients. Then more
/// gathered state fits where less does not.
TEST(Fitting, MoreFitsWhereLessDoesNot) {
  const Problem problem = shardedChain(2, 2, 2, 4);
  const Schedule tasks = tasksOf(problem, "interleaved-1f1b");
  PlanFigures plan = shardedFigures(problem);
  const int64_t whole[] = {512, 512, 2048, 1024},
                forInputGrad[] = {2048, 2048, 512, 4096},
                forWeightGrad[] = {2048, 2048, 512, 2048};
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const int32_t stage = problem.replicas[replica].stage;
    auto set = [&](BufferKind kind, const int64_t *bytes) {
      plan.buffers[replica][static_cast<int>(kind)] = bytes[stage];
    };
    set(BufferKind::GatheredWeights, whole);
    set(BufferKind::UnreducedGradients, whole);
    set(BufferKind::SavedForInputGrad, forInputGrad);
    set(BufferKind::SavedForWeightGrad, forWeightGrad);
  }
  auto arenasWith = [&](Residency residency) {
    return arenasOf(plan, problem, placeGathers(problem, tasks, {residency}));
  };
  plan.devices = arenasWith({1, 2});
  for (const Residency &other : {Residency{0, 0}, {1, 1}, {2, 1}, {2, 2}})
    ASSERT_EQ(excessOver(plan.devices, arenasWith(other))[2], 64)
        << other.weights << " " << other.gradients;
  const FittingResidencies chosen =
      chooseFitting(problem, tasks, PlanArenas(plan, problem));
  EXPECT_EQ(chosen.residencies, (Residencies{{1, 2}}));
  ASSERT_TRUE(chosen.lack);
  EXPECT_EQ(chosen.lack->fastest, chooseResidencies(problem, tasks));
  EXPECT_EQ(chosen.lack->bytes, 64);
}

/// With one launch in flight, programs that gather less often wait for each
/// other.
TEST(Fitting, OnlyOneMicrobatchAtATimeRuns) {
  const Problem problem = shardedChain(2, 2, 2, 6);
  const Schedule tasks = tasksOf(problem, "looped-bfs");
  PlanFigures plan = shardedFigures(problem);
  plan.resident = 1;
  const PlanArenas arenas(plan, problem);
  auto runs = [&](const Residencies &residencies) {
    return arenas.run(placeGathers(problem, tasks, residencies));
  };
  ASSERT_TRUE(runs({{0, 0}}));
  for (int32_t weights : {1, 2})
    for (int32_t gradients : {1, 2})
      ASSERT_FALSE(runs({{weights, gradients}}));
  const FittingResidencies chosen = chooseFitting(problem, tasks, arenas);
  EXPECT_EQ(chosen.residencies, (Residencies{{0, 0}}));
  ASSERT_TRUE(chosen.lack);
  EXPECT_EQ(chosen.lack->rank, -1);
  EXPECT_EQ(describe(chosen),
            "gathers<weights = 0, gradients = 0> is the fastest of those tried "
            "that fit; gathers<weights = 2, gradients = 1> is faster, but its "
            "programs wait for each other: few messages or launches of a rank "
            "may be under way");
}

} // namespace
