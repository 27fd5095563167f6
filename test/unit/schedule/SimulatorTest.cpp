//===- SimulatorTest.cpp - Times, links and wait cycles -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::vector<int64_t> endsOf(const Problem &problem, const Schedule &schedule) {
  EXPECT_EQ(verdict(problem, schedule), "");
  return simulate(problem, schedule, /*keepTimes=*/true).endNs;
}

using Times = std::vector<int64_t>;

TEST(Simulator, TimesOfTwoStages) {
  Problem problem = linearProblem(2, 2, {3, 4, 2, 2, 1});
  problem.link.latencyNs = 1;
  Schedule schedule =
      scheduleOf({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1I1 1W0 1W1"});
  Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  ASSERT_TRUE(simulation.complete);
  EXPECT_EQ(simulation.startNs,
            (Times{0, 3, 12, 16, 19, 23, 4, 7, 11, 14, 18, 20}));
  EXPECT_EQ(simulation.endNs,
            (Times{3, 6, 16, 18, 23, 25, 7, 11, 14, 18, 20, 22}));
  EXPECT_EQ(simulation.makespanNs, 25);
  EXPECT_EQ(simulation.spanNs, 25);
  EXPECT_EQ(simulation.rankStartNs, (Times{0, 4}));
  EXPECT_EQ(simulation.rankEndNs, (Times{25, 22}));
  EXPECT_EQ(simulation.rankWorkNs, (Times{18, 18}));
  EXPECT_EQ(simulation.peakBytes, (Times{4, 3}));
  EXPECT_DOUBLE_EQ(simulation.bubble, 1 - 18.0 / 25);
}

TEST(Simulator, IdleRankHasNoSpan) {
  Problem problem = problemOn({1}, 3, 1);
  Simulation simulation = simulate(problem, scheduleOf({"", "0F0 0B0", ""}));
  ASSERT_TRUE(simulation.complete);
  EXPECT_EQ(simulation.makespanNs, 3);
  EXPECT_EQ(simulation.spanNs, 3);
  EXPECT_EQ(simulation.rankEndNs, (Times{0, 3, 0}));
  EXPECT_EQ(simulation.peakBytes, (Times{0, 1, 0}));
}

TEST(Simulator, TasksThatTakeNoTimeHaveNoBubble) {
  Problem problem = linearProblem(2, 2, {0, 0, 0, 0, 0});
  Simulation simulation = simulate(problem, generateFamily("1f1b", problem));
  ASSERT_TRUE(simulation.complete);
  EXPECT_EQ(simulation.makespanNs, 0);
  EXPECT_EQ(simulation.bubble, 0);
}

// Occupancy 5: the second message waits for the link, then for the latency.
TEST(Simulator, LinkCarriesOneMessageAtATime) {
  Problem problem = linearProblem(2, 2, {1, 1, 1, 0, 0}, /*outputBytes=*/10);
  problem.link = {/*latencyNs=*/7, /*bytesPerUs=*/2000};
  Times ends =
      endsOf(problem, scheduleOf({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"}));
  // Off the link at 6 and 11, arrived at 13 and 18.
  EXPECT_EQ(ends[4], 14);
  EXPECT_EQ(ends[5], 19);
  // Gradients leave at 21 and 23, and arrive at 33 and 38.
  EXPECT_EQ(ends[2], 35);
  EXPECT_EQ(ends[3], 40);
}

TEST(Simulator, LinksOverrideByDirection) {
  Problem problem = linearProblem(2, 1);
  problem.link.latencyNs = 100;
  problem.links[{1, 0}] = {3, 0};
  Times ends = endsOf(problem, scheduleOf({"0F0 0B0", "1F0 1B0"}));
  EXPECT_EQ(ends, (Times{1, 109, 102, 104}));
}

TEST(Simulator, LinkOrderHoldsMessagesBack) {
  Problem problem = linearProblem(2, 2, {1, 1, 1, 0, 0}, /*outputBytes=*/10);
  problem.link.bytesPerUs = 2000;
  Schedule schedule = scheduleOf({"0F0 0F1 0B0 0B1", "1F1 1F0 1B1 1B0"});
  schedule.linkOrders[{0, 1}] = actionsOf("0F1 0F0");
  Times ends = endsOf(problem, schedule);
  EXPECT_EQ(ends[4], 8);  // 0F1 is ready at 2, arrives at 7
  EXPECT_EQ(ends[5], 13); // 0F0 after it, arrives at 12
}

// Rank 0 sends 0F0 and 2F0 to rank 1; 0F0 has no bytes and no occupancy, but
// still waits for 2F0.
TEST(Simulator, MessageWithoutOccupancyTakesItsTurn) {
  Problem problem = problemOn({0, 1, 0, 1}, 2, 2, {1, 1, 1, 0, 0});
  problem.makeChain({0, 0, 100, 0});
  problem.link.bytesPerUs = 1000;
  Schedule schedule = scheduleOf(
      {"0F0 2F0 0F1 2F1 2B0 0B0 2B1 0B1", "1F0 3F0 1F1 3F1 3B0 1B0 3B1 1B1"});
  // 2F0 ends at 3 and occupies the link until 103; 0F1 ends at 4.
  Times ends = endsOf(problem, schedule);
  EXPECT_EQ(ends[1], 3);
  EXPECT_EQ(ends[2], 4);
  EXPECT_EQ(ends[8 + 1], 104);
  EXPECT_EQ(ends[8 + 2], 105);
  schedule.linkOrders[{0, 1}] = actionsOf("0F0 0F1 2F0 2F1 2B0 2B1");
  // Now 2F0 waits for 0F1, which is made at 4.
  EXPECT_EQ(endsOf(problem, schedule)[8 + 1], 105);
}

TEST(Simulator, HandOverOnOneRankIsFree) {
  Problem problem = problemOn({0, 0}, 1, 1, {}, /*outputBytes=*/1000);
  problem.link = {50, 1};
  EXPECT_EQ(endsOf(problem, scheduleOf({"0F0 1F0 1B0 0B0"})),
            (Times{1, 2, 4, 6}));
}

TEST(Simulator, EdgesMayLeapOverStages) {
  Problem problem = linearProblem(3, 1);
  problem.edges.push_back({0, 2, ActionKind::Forward, 0});
  problem.links[{0, 2}] = {40, 0};
  Simulation simulation =
      simulate(problem, scheduleOf({"0F0 0B0", "1F0 1B0", "2F0 2B0"}), true);
  ASSERT_TRUE(simulation.complete);
  EXPECT_EQ(simulation.startNs[4], 41);
}

//===----------------------------------------------------------------------===//
// Wait cycles
//===----------------------------------------------------------------------===//

std::string cycleOf(const Problem &problem, const Schedule &schedule) {
  Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  EXPECT_FALSE(simulation.complete);
  EXPECT_TRUE(simulation.startNs.empty());
  return describeCycle(simulation.cycle);
}

TEST(Simulator, WaitCycleOfTwoRanks) {
  Problem problem = linearProblem(2, 2);
  EXPECT_EQ(
      cycleOf(problem, scheduleOf({"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"})),
      "rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F1 of "
      "rank 0 at 1F1");
  EXPECT_EQ(cycleOf(problem, scheduleOf({"0F0 0I0 0W0 0F1 0I1 0W1",
                                         "1F0 1F1 1I0 1W0 1I1 1W1"})),
            "rank 0 waits for 1I0 of rank 1 at 0I0 -> rank 1 waits for 0F1 of "
            "rank 0 at 1F1");
}

TEST(Simulator, WaitCycleLeavesOutWhoOnlyWaitsForIt) {
  Problem problem = linearProblem(3, 2);
  Simulation simulation = simulate(
      problem,
      scheduleOf({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", "2F0 2F1 2B0 2B1"}));
  ASSERT_FALSE(simulation.complete);
  ASSERT_EQ(simulation.cycle.size(), 2u);
  EXPECT_EQ(simulation.cycle[0].rank, 1);
  EXPECT_EQ(simulation.cycle[1].rank, 2);
}

TEST(Simulator, WaitCycleThroughALinkOrder) {
  Problem problem = linearProblem(2, 2);
  Schedule schedule = scheduleOf({"0F0 0B0 0F1 0B1", "1F0 1B0 1F1 1B1"});
  schedule.linkOrders[{0, 1}] = actionsOf("0F1 0F0");
  EXPECT_EQ(cycleOf(problem, schedule),
            "rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F0 of "
            "rank 0 at 1F0 (the link order puts it after 0F1)");
}

// Such a link order breaks S6; the simulator gets stuck but does not fail.
TEST(Simulator, WaitsForAMessageThatALinkOrderLeavesOut) {
  Problem problem = linearProblem(2, 2);
  Schedule schedule = generateFamily("1f1b", problem);
  schedule.linkOrders[{0, 1}] = actionsOf("0F0");
  Simulation simulation = simulate(problem, schedule);
  EXPECT_FALSE(simulation.complete);
}

TEST(Simulator, RankThatWaitsForItself) {
  Simulation simulation =
      simulate(linearProblem(1, 1), scheduleOf({"0B0 0F0"}));
  ASSERT_EQ(simulation.cycle.size(), 1u);
  EXPECT_EQ(simulation.cycle[0].onRank, 0);
  EXPECT_EQ(actionName(simulation.cycle[0].needs), "0F0");
}

TEST(Simulator, LanesRunBesideEachOther) {
  Problem problem = linearProblem(1, 2, {3, 4, 20});
  Schedule schedule = scheduleOf({"0F0 0I0 0W0 0F1 0I1 0W1"});
  EXPECT_EQ(simulate(problem, schedule).makespanNs, 54);
  problem.cost(0, ActionKind::WeightGrad).lane = Lane::CopyOut;
  Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
  EXPECT_EQ(run.startNs, (std::vector<int64_t>{0, 3, 7, 7, 10, 27}));
  EXPECT_EQ(run.makespanNs, 47);
  EXPECT_EQ(run.spanNs, 47);
  EXPECT_EQ(run.rankEndNs, (std::vector<int64_t>{47}));
  EXPECT_EQ(run.rankWorkNs, (std::vector<int64_t>{54}));
  // No rule of a schedule supports that yet.
  auto fault = problem.check();
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault), "W of stage 0 is not on the lane of its kind");
}

} // namespace
