//===- SppFamilyTest.cpp - SPP's execution order --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/families/SppClock.h"

#include <map>
#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Two stages with F = (2, 1) and B = (4, 2), a message takes 1.
Problem worked() {
  Problem problem = linearProblem(2, 3, {2, 2, 2, 1, 0}, 1);
  problem.setStageCost(1, 1, 1, 1, 1, 0);
  problem.link.bytesPerUs = 1000;
  return problem;
}

std::string ordersOf(const Problem &problem) {
  Schedule schedule = generateFamily("spp", problem);
  EXPECT_EQ(verdict(problem, schedule), "");
  std::string text;
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    text += textOf(schedule.rank(r)) + "\n";
  return text;
}

TEST(SppClock, RunsTheWorkedExample) {
  SppClock clock(3, SppClock::Duplex::Half);
  clock.setNumStages(2);
  clock.setStage(0, 2, 4, 1, 1);
  clock.setStage(1, 1, 2, 0, 0);
  ASSERT_EQ(clock.numResources(), 3);
  std::vector<int64_t> latest(3, 1000);
  std::vector<SppClock::Block> blocks;
  ASSERT_TRUE(clock.run(latest, &blocks));
  EXPECT_EQ(clock.endNs(0), 19);
  EXPECT_EQ(clock.endNs(1), 12);
  // Index: position. F, message, F and B of the last stage, message, B.
  std::map<int32_t, std::vector<int64_t>> begins;
  for (const SppClock::Block &block : blocks) {
    EXPECT_EQ(block.microbatch,
              static_cast<int32_t>(begins[block.position].size()));
    begins[block.position].push_back(block.beginNs);
  }
  const std::map<int32_t, std::vector<int64_t>> published = {{0, {0, 2, 4}},
                                                             {1, {2, 4, 7}},
                                                             {2, {3, 6, 9}},
                                                             {3, {6, 9, 12}},
                                                             {4, {7, 11, 15}}};
  EXPECT_EQ(begins, published);
}

TEST(SppClock, StopsOnceABlockBeginsTooLate) {
  SppClock clock(3, SppClock::Duplex::Half);
  clock.setNumStages(2);
  clock.setStage(0, 2, 4, 1, 1);
  clock.setStage(1, 1, 2, 0, 0);
  // Stage 0 works for 18 of 19 ns, stage 1 for 9 of 12.
  std::vector<int64_t> inTime = {1, 3, 100}, tooLate = {0, 3, 100};
  EXPECT_TRUE(clock.run(inTime));
  EXPECT_FALSE(clock.run(tooLate));
}

TEST(Spp, OrdersOfTheWorkedExample) {
  Problem problem = worked();
  EXPECT_EQ(ordersOf(problem), "0F0 0F1 0F2 0B0 0B1 0B2\n"
                               "1F0 1B0 1F1 1B1 1F2 1B2\n");
  EXPECT_EQ(simulate(problem, generateFamily("spp", problem)).makespanNs, 19);
}

/// Three stages in which a backward and forwards are ready at the same time: a
/// backward of the same cycle comes first, of a later one it waits.
TEST(Spp, TakesTheEarliestCycleAndBackwardsFirst) {
  EXPECT_EQ(ordersOf(linearProblem(3, 12)),
            "0F0 0F1 0F2 0F3 0F4 0F5 0F6 0F7 0B0 0F8 0F9 0B1 0F10 0B2 0F11 "
            "0B3 0B4 0B5 0B6 0B7 0B8 0B9 0B10 0B11\n"
            "1F0 1F1 1F2 1F3 1B0 1F4 1F5 1B1 1F6 1B2 1F7 1B3 1F8 1B4 1F9 1B5 "
            "1F10 1B6 1F11 1B7 1B8 1B9 1B10 1B11\n"
            "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4 2F5 2B5 2F6 2B6 2F7 2B7 "
            "2F8 2B8 2F9 2B9 2F10 2B10 2F11 2B11\n");
}

/// A message back waits for one there on the same channel.
TEST(Spp, AChannelServesBothDirections) {
  Problem problem = linearProblem(2, 3, {1, 1, 0, 1, 0});
  problem.link.latencyNs = 2;
  // Each way has a channel of its own: 12 ns where SPP's clock takes 14.
  Simulation simulation = simulate(problem, generateFamily("spp", problem));
  EXPECT_LT(simulation.makespanNs, 14);
  // Links of two speeds.
  problem.links[{1, 0}] = {50, 0};
  EXPECT_EQ(ordersOf(problem), "0F0 0F1 0F2 0B0 0B1 0B2\n"
                               "1F0 1B0 1F1 1B1 1F2 1B2\n");
}

/// Time is within (M + 4S - 4) C and caps are judged, not kept.
TEST(Spp, KeepsItsBound) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto stages = static_cast<int32_t>(1 + random() % 6);
    const auto microbatches = static_cast<int32_t>(1 + random() % 12);
    Problem problem = linearProblem(stages, microbatches);
    int64_t block = 0;
    for (int32_t s = 0; s < stages; ++s) {
      const int64_t forward = random() % 10, inputGrad = random() % 10,
                    weightGrad = random() % 10;
      problem.setStageCost(s, forward, inputGrad, weightGrad, 1, 0);
      block = std::max(block, forward + inputGrad + weightGrad);
      if (s + 1 == stages)
        continue;
      const int64_t there = random() % 8, back = random() % 8;
      problem.links[{s, s + 1}] = {there, 0};
      problem.links[{s + 1, s}] = {back, 0};
      block = std::max(block, there + back);
    }
    Schedule schedule = generateFamily("spp", problem);
    ASSERT_EQ(verdict(problem, schedule), "");
    EXPECT_EQ(checkAccumulation(problem, schedule), std::nullopt);
    EXPECT_LE(simulate(problem, schedule).makespanNs,
              (microbatches + 4 * stages - 4) * block);
  }
}

TEST(Spp, IsNotCappedByMemory) {
  Problem problem = linearProblem(3, 12);
  EXPECT_EQ(simulate(problem, generateFamily("spp", problem)).peakBytes,
            (std::vector<int64_t>{9, 5, 1}));
  problem.memoryCaps.assign(3, 8);
  Schedule schedule = generateFamily("spp", problem);
  EXPECT_NE(verdict(problem, schedule).find("[S5]"), std::string::npos);
}

TEST(Spp, NeedsAChainOnOneStageARank) {
  auto reasonOf = [](const Problem &problem) {
    FamilyResult result = generate(*parseFamily("spp"), problem);
    return result ? "applies" : describe(result.fault());
  };
  EXPECT_EQ(reasonOf(problemOn({0, 1, 0, 1}, 2, 2)),
            "spp needs one stage per rank; there are 4 stages and 2 ranks");
  Problem skip = linearProblem(3, 2);
  skip.makeGraph({{}, {0}, {0, 1}}, {1, 1, 1});
  EXPECT_NE(reasonOf(skip).find("spp"), std::string::npos);
}

} // namespace
