//===- FittingGathersTest.cpp - Numbers of whole chunks by rank -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/FittingGathers.h"
#include "test/unit/planning/ShardedPlan.h"

#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <limits>

using namespace rondo;
using namespace rondo::test;

namespace {

class ResidenciesTest : public ::testing::Test {
protected:
  /// Links on which gathers do not hide.
  ResidenciesTest() {
    problem.link = {0, 200};
    for (int32_t stage = 0; stage < problem.numStages(); ++stage)
      problem.setShards(stage, ShardedState::Weights, wholeBytes, wholeBytes);
    tasks = tasksOf(problem, "blockwise:u=3");
  }

  Simulation run(const Residencies &residencies) const {
    return simulate(problem, placeGathers(problem, tasks, residencies));
  }
  /// The shortest with the same numbers on all ranks; int64_t's maximum where
  /// none fits.
  int64_t bestOfSame() const {
    int64_t best = std::numeric_limits<int64_t>::max();
    for (int32_t weights = 1; weights <= 3; ++weights)
      for (int32_t gradients = 1; gradients <= 3; ++gradients) {
        const Schedule placed =
            placeGathers(problem, tasks, {{weights, gradients}});
        if (judge(problem, placed).empty())
          best = std::min(best, simulate(problem, placed).makespanNs);
      }
    return best;
  }

  /// Two groups of two ranks with three chunks each.
  Problem problem = shardedChain(2, 3, 2, 6);
  Schedule tasks;
};

TEST_F(ResidenciesTest, OneForAllIsTheSameAsByRank) {
  const Schedule all = placeGathers(problem, tasks, {{2, 1}}),
                 byRank = placeGathers(problem, tasks,
                                       Residencies(problem.numRanks(), {2, 1}));
  ASSERT_EQ(all.numActions(), byRank.numActions());
  EXPECT_TRUE(
      std::equal(all.all().begin(), all.all().end(), byRank.all().begin()));
}

TEST(Residencies, ChosenIsTheBestWithinTheCaps) {
  Problem problem = shardedChain(2, 3, 2, 6);
  const Schedule tasks = tasksOf(problem, "blockwise:u=3");
  auto run = [&](Residency residency) {
    return simulate(problem, placeGathers(problem, tasks, {residency}));
  };
  const Residencies chosen = chooseResidencies(problem, tasks);
  ASSERT_EQ(chosen.size(), 1u);
  const Residency free = chosen.front();
  for (int32_t weights = 1; weights <= 3; ++weights)
    for (int32_t gradients = 1; gradients <= 3; ++gradients)
      EXPECT_LE(run(free).makespanNs, run({weights, gradients}).makespanNs);
  // A cap that only one chunk at a time keeps.
  const Simulation least = run({1, 1});
  const int64_t peak =
      *std::max_element(least.peakBytes.begin(), least.peakBytes.end());
  problem.memoryCaps.assign(problem.numRanks(), peak);
  EXPECT_EQ(chooseResidencies(problem, tasks), (Residencies{{1, 1}}));
  EXPECT_EQ(judge(problem, placeGathers(problem, tasks, {{1, 1}})), "");
  EXPECT_NE(judge(problem, placeGathers(problem, tasks, {{3, 3}})).find("[S5]"),
            std::string::npos);
}

TEST_F(ResidenciesTest, WithoutCapsAllRanksHaveTheSame) {
  EXPECT_EQ(chooseResidencies(problem, tasks).size(), 1u);
}

TEST_F(ResidenciesTest, RanksWithLessMemoryHaveFewer) {
  // The first group has room for one chunk at a time.
  const std::vector<int64_t> least = run({{1, 1}}).peakBytes;
  for (int32_t rank : {0, 1})
    problem.memoryCaps[rank] = least[rank];
  const Residencies chosen = chooseResidencies(problem, tasks);
  ASSERT_EQ(chosen.size(), 4u);
  EXPECT_EQ(chosen[0], (Residency{1, 1}));
  EXPECT_GT(chosen[2].weights, 1);
  const Schedule placed = placeGathers(problem, tasks, chosen);
  EXPECT_EQ(judge(problem, placed), "");
  EXPECT_LT(run(chosen).makespanNs, bestOfSame());
}

/// The ranks of a group gather together, though only one lacks memory.
TEST_F(ResidenciesTest, RanksThatShareStateHaveTheSame) {
  problem.memoryCaps[1] = run({{1, 1}}).peakBytes[1];
  const Residencies chosen = chooseResidencies(problem, tasks);
  ASSERT_EQ(chosen.size(), 4u);
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_EQ(chosen[2], chosen[3]);
  EXPECT_EQ(judge(problem, placeGathers(problem, tasks, chosen)), "");
  EXPECT_LT(run(chosen).makespanNs, bestOfSame());
}

/// From one chunk at a time to no longer than the same numbers on all ranks.
TEST_F(ResidenciesTest, MovesFindWhatIsShorter) {
  int64_t trials = 1000;
  auto all = [](const Schedule &) { return true; };
  const Residencies moved =
      improveResidencies(problem, tasks, {{1, 1}}, all, trials);
  EXPECT_LT(trials, 1000);
  EXPECT_LE(run(moved).makespanNs, bestOfSame());
  EXPECT_LT(run(moved).makespanNs, run({{1, 1}}).makespanNs);
  EXPECT_EQ(moved[0], moved[1]);
  EXPECT_EQ(judge(problem, placeGathers(problem, tasks, moved)), "");
  // Nothing is taken without being asked for, or without a trial.
  auto none = [](const Schedule &) { return false; };
  trials = 1000;
  EXPECT_EQ(improveResidencies(problem, tasks, {{1, 1}}, none, trials),
            Residencies(4, {1, 1}));
  trials = 1;
  EXPECT_EQ(improveResidencies(problem, tasks, {{1, 1}}, all, trials),
            Residencies(4, {1, 1}));
  EXPECT_EQ(trials, 0);
}

TEST_F(ResidenciesTest, MovesKeepToTheCaps) {
  const std::vector<int64_t> least = run({{1, 1}}).peakBytes;
  for (int32_t rank : {0, 1})
    problem.memoryCaps[rank] = least[rank];
  int64_t trials = 1000;
  const Residencies moved = improveResidencies(
      problem, tasks, {{1, 1}}, [](const Schedule &) { return true; }, trials);
  EXPECT_EQ(judge(problem, placeGathers(problem, tasks, moved)), "");
  EXPECT_LE(run(moved).makespanNs,
            run(chooseResidencies(problem, tasks)).makespanNs);
}

/// If no numbers fit, the result is the one with the least memory.
TEST_F(ResidenciesTest, NothingFits) {
  problem.memoryCaps.assign(4, 1);
  const Residencies chosen = chooseResidencies(problem, tasks);
  for (const Residency &one : chosen)
    EXPECT_EQ(one, (Residency{1, 1}));
}

/// Programs lay gathered state into slots, in addition to the state that stays.
class FittingTest : public ResidenciesTest {
protected:
  std::vector<int64_t> arenasWith(const Residencies &residencies) const {
    return arenasOf(plan, problem, placeGathers(problem, tasks, residencies));
  }
  FittingResidencies choose(const FixResidencies &fix = {}) const {
    return chooseFitting(problem, tasks, PlanArenas(plan, problem), fix);
  }

  PlanFigures plan = shardedFigures(problem);
};

TEST_F(FittingTest, WithRoomTheFastestAreTaken) {
  const FittingResidencies chosen = choose();
  EXPECT_EQ(chosen.residencies, chooseResidencies(problem, tasks));
  EXPECT_FALSE(chosen.lack);
}

/// The arena of one group of ranks lacks a byte for the fastest.
TEST_F(FittingTest, ArenasLeaveRoomForLess) {
  const Residencies fastest = chooseResidencies(problem, tasks);
  const int64_t arena = arenasWith(fastest)[2];
  plan.devices[2] = plan.devices[3] = arena - 1;
  const FittingResidencies chosen = choose();
  EXPECT_LT(arenasWith(chosen.residencies)[2], arena);
  EXPECT_GT(run(chosen.residencies).makespanNs, run(fastest).makespanNs);
  ASSERT_TRUE(chosen.lack);
  EXPECT_EQ(chosen.lack->fastest, fastest);
  EXPECT_EQ(chosen.lack->rank, 2);
  EXPECT_EQ(chosen.lack->bytes, 1);
  EXPECT_EQ(describe(chosen), textOf(chosen.residencies) +
                                  " is the fastest of those tried that fit; " +
                                  textOf(fastest) +
                                  " is faster, but rank 2 lacks 1 byte for it");
}

/// Devices that are as small as one micro-batch at a time allows. One chunk at
/// a time is faster and has the same arenas here.
TEST_F(FittingTest, OneChunkAtATimeFits) {
  plan.devices = arenasWith({{0, 0}});
  ASSERT_GT(arenasWith(chooseResidencies(problem, tasks))[0], plan.devices[0]);
  ASSERT_EQ(arenasWith({{1, 1}}), plan.devices);
  const FittingResidencies chosen = choose();
  EXPECT_EQ(chosen.residencies, (Residencies{{1, 1}}));
  EXPECT_TRUE(chosen.lack);
}

/// Stated numbers stay, and the rest adapts.
TEST_F(FittingTest, StatedNumbersStay) {
  auto fix = [](Residencies residencies) {
    for (Residency &one : residencies)
      one.weights = 2;
    return residencies;
  };
  plan.devices = arenasWith({{2, 1}});
  ASSERT_GT(arenasWith({{2, 3}})[0], plan.devices[0]);
  for (const Residency &one : choose(fix).residencies)
    EXPECT_EQ(one, (Residency{2, 1}));
}

/// Arenas that are not known stop nothing.
TEST_F(FittingTest, UnknownArenasFit) {
  plan.devices.assign(4, 1);
  const Residencies fastest = chooseResidencies(problem, tasks);
  EXPECT_EQ(
      chooseFitting(problem, tasks, PlanArenas(plan, problem, /*maxActions=*/0))
          .residencies,
      fastest);
  ASSERT_NE(choose().residencies, fastest);
  plan.declaresWeights = false;
  EXPECT_FALSE(PlanArenas(plan, problem).areKnown());
  EXPECT_EQ(choose().residencies, fastest);
}

/// Only the order with the fastest residencies, which has fewer gathers than
/// others, is small enough to be lowered. It does not fit; the next one counts
/// as fitting.
TEST_F(FittingTest, ArenasMayBeKnownOfSome) {
  plan.devices.assign(4, 1);
  const Residencies fastest = chooseResidencies(problem, tasks);
  const int64_t maxActions = placeGathers(problem, tasks, fastest).numActions();
  const FittingResidencies chosen =
      chooseFitting(problem, tasks, PlanArenas(plan, problem, maxActions));
  EXPECT_GT(placeGathers(problem, tasks, chosen.residencies).numActions(),
            maxActions);
  ASSERT_TRUE(chosen.lack);
  EXPECT_EQ(chosen.lack->fastest, fastest);
  EXPECT_NE(chosen.residencies, (Residencies{{0, 0}}));
}

/// If nothing ever fits, the result is the one that exceeds the memory least.
TEST_F(FittingTest, NothingFits) {
  plan.devices.assign(4, 1);
  const FittingResidencies chosen = choose();
  EXPECT_FALSE(chosen.lack);
  EXPECT_LE(arenasWith(chosen.residencies)[0], arenasWith({{1, 1}})[0]);
}

} // namespace
