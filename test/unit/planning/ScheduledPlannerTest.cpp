//===- ScheduledPlannerTest.cpp - Plans judged by their schedules ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/ScheduledPlanner.h"
#include "planning/scheduled/ScheduledBaselines.h"
#include "planning/scheduled/ScheduledBound.h"
#include "schedule/rules/Legality.h"
#include "test/unit/planning/ChainExamples.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

/// Two layers, the first on two devices of a server.
ChainProblem twoLayers() {
  ChainProblem problem = equalDevices(3, 1000);
  problem.name = "two layers";
  problem.microbatches = 2;
  problem.latencyInsideNs = 3;
  problem.layers = {{"a", 9, 11, 21, 40, 50}, {"b", 10, 20, 0, 7, 60}};
  for (ChainLayer &layer : problem.layers)
    layer.stateBytes = 2 * layer.parameterBytes;
  return problem;
}

ChainPlannerOptions withEffort(int64_t effort) {
  ChainPlannerOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  return options;
}

/// Half of the problems give backwards in parts, half have NICs, and a third
/// devices of several speeds.
std::vector<ChainProblem> tinyProblems(int count) {
  std::mt19937 random(5);
  std::vector<ChainProblem> problems;
  for (int i = 0; i < count; ++i) {
    ChainProblem problem =
        randomChain(random, static_cast<int32_t>(1 + random() % 3),
                    static_cast<int32_t>(1 + random() % 4));
    problem.microbatches = static_cast<int32_t>(1 + random() % 4);
    if (i % 2)
      for (ChainLayer &layer : problem.layers)
        layer.weightGradNs =
            static_cast<int64_t>(random() % (layer.backwardNs + 1));
    if (i % 4 > 1)
      addNics(random, problem);
    if (i % 3 == 0)
      for (int32_t d = 0; d < problem.numDevices(); ++d)
        problem.speedPercent.push_back(
            std::vector<int64_t>{50, 100, 300}[random() % 3]);
    problems.push_back(std::move(problem));
  }
  return problems;
}

/// The time of the schedule by the simulator, which must keep all rules.
int64_t timeOf(const ScheduledPlan &plan) {
  Simulation simulation;
  EXPECT_FALSE(checkAndSimulate(plan.problem, plan.schedule, simulation));
  EXPECT_FALSE(checkAccumulation(plan.problem, plan.schedule));
  EXPECT_TRUE(plan.schedule.hasSteps());
  return simulation.makespanNs;
}

TEST(PlanProblem, HasTheFiguresOfEachDevice) {
  ChainProblem chain = twoLayers();
  chain.memoryBytes = 500;
  const Result<Problem> made =
      planProblem(chain, {{0, 1, {2, 0}}, {1, 2, {1}}});
  ASSERT_TRUE(made);
  const auto &problem = *made;
  ASSERT_EQ(problem.numReplicas(), 3);
  // The first share is that of the device that the plan lists first.
  EXPECT_EQ(problem.rankOf(0), 2);
  EXPECT_EQ(problem.rankOf(1), 0);
  EXPECT_EQ(problem.rankOf(2), 1);
  EXPECT_EQ(problem.cost(0, ActionKind::Forward).ns, 5);
  EXPECT_EQ(problem.cost(0, ActionKind::InputGrad).ns, 6);
  EXPECT_EQ(problem.cost(0, ActionKind::WeightGrad).ns, 0);
  EXPECT_EQ(problem.cost(0, ActionKind::Backward).ns, 6);
  EXPECT_EQ(problem.cost(0, ActionKind::Forward).acquireBytes, 20);
  EXPECT_EQ(problem.cost(0, ActionKind::InputGrad).releaseBytes, 20);
  // Half of 50 bytes to the other and half of the sum back, at a byte a ns.
  EXPECT_EQ(problem.cost(0, ActionKind::Step).ns, 2 * 3 + 50);
  EXPECT_EQ(problem.cost(2, ActionKind::Step).ns, 0);
  EXPECT_EQ(problem.memoryCaps, (std::vector<int64_t>{400, 380, 400}));
  // Two pieces there and two back: 10 and 11 bytes.
  ASSERT_EQ(problem.edges.size(), 4u);
  EXPECT_EQ(problem.edges[0].bytes + problem.edges[1].bytes, 21);
  EXPECT_EQ(std::abs(problem.edges[0].bytes - problem.edges[1].bytes), 1);
}

TEST(PlanProblem, DevicesThatDiffer) {
  ChainProblem chain = twoLayers();
  chain.memoryBytes = 500;
  chain.memoryLess = {0, 30, 100};
  chain.speedPercent = {200, 100, 50};
  const auto problem = *planProblem(chain, {{0, 1, {2, 0}}, {1, 2, {1}}});
  // Each replica at its own speed.
  EXPECT_EQ(problem.cost(0, ActionKind::Forward).ns, 10);
  EXPECT_EQ(problem.cost(1, ActionKind::Forward).ns, 3);
  EXPECT_EQ(problem.cost(0, ActionKind::Backward).ns, 12);
  EXPECT_EQ(problem.cost(1, ActionKind::Backward).ns, 3);
  EXPECT_EQ(problem.memoryCaps, (std::vector<int64_t>{400, 350, 300}));
}

TEST(PlanProblem, PartsOfTheBackward) {
  ChainProblem chain = twoLayers();
  chain.layers[0].weightGradNs = 5;
  const Result<Problem> made = planProblem(chain, {{0, 2, {0, 1}}});
  const auto &problem = *made;
  EXPECT_EQ(problem.cost(0, ActionKind::InputGrad).ns, 13);
  EXPECT_EQ(problem.cost(0, ActionKind::WeightGrad).ns, 3);
  EXPECT_EQ(problem.cost(0, ActionKind::Backward).ns, 16);
  EXPECT_EQ(problem.cost(0, ActionKind::InputGrad).releaseBytes, 0);
}

TEST(PlanProblem, NicsLetMessagesTakeTurns) {
  ChainProblem chain = twoLayers();
  chain.nodeOf = {0, 0, 1};
  chain.nicOf = {0, 0, 1};
  chain.latencyAcrossNs = 4;
  // Worked out by hand: F of 5 ns on both, then 10 or 11 bytes through one NIC
  // in turn.
  const ChainPlan plan = {{0, 1, {0, 1}}, {1, 2, {2}}};
  const auto turns = *planProblem(chain, plan);
  EXPECT_EQ(turns.linkBetween(0, 2).bytesPerUs, 1000);
  auto timeOfPlan = [&](const ChainProblem &problem) {
    return PlanJudge(problem).judge(plan, FamilyEffort::All)->timeNs;
  };
  const int64_t shared = timeOfPlan(chain);
  // A NIC of its own for each slows no sum.
  ChainProblem own = chain;
  own.nodeOf = own.nicOf = {0, 1, 2};
  const auto sum = [&](const ChainProblem &problem) {
    return planProblem(problem, plan)->cost(0, ActionKind::Step).ns;
  };
  EXPECT_EQ(sum(own), 2 * 4 + 50);
  own.nicOf.clear();
  EXPECT_EQ(sum(own), 2 * 4 + 50);
  chain.nicOf.clear();
  EXPECT_GT(shared, timeOfPlan(chain));
}

TEST(PlanProblem, SaysWhatIsWrong) {
  ChainProblem chain = twoLayers();
  chain.memoryBytes = 119;
  Result<Problem> made = planProblem(chain, {{0, 1, {0}}, {1, 2, {1}}});
  ASSERT_TRUE(!made);
  EXPECT_EQ(describe(made.fault()),
            "stage 1 needs 120 bytes for its state on each device, 1 more than "
            "the 119 of a device");
  // 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 is above 2^20.
  ChainProblem wide = equalDevices(77, 1000);
  ChainPlan plan;
  int32_t device = 0;
  for (int32_t r : {2, 3, 5, 7, 11, 13, 17, 19}) {
    ChainStage stage = {int32_t(plan.size()), int32_t(plan.size()) + 1, {}};
    for (int32_t k = 0; k < r; ++k)
      stage.devices.push_back(device++);
    plan.push_back(stage);
    wide.layers.push_back({"l", 1, 1});
  }
  made = planProblem(wide, plan);
  ASSERT_TRUE(!made);
  EXPECT_NE(describe(made.fault()).find("no common multiple"),
            std::string::npos);
}

/// All plans with searched orders, which are mostly proven optimal.
TEST(ScheduledBound, IsBelowAllOrdersOfAllPlans) {
  int met = 0, searched = 0;
  for (const ChainProblem &problem : tinyProblems(60)) {
    PlanJudge judge(problem);
    int64_t least = infinite;
    EveryPlan(problem, [&](const ChainPlan &plan) {
      std::optional<ScheduledPlan> found = judge.judge(plan, FamilyEffort::All);
      ASSERT_TRUE(found);
      SearchOptions options;
      options.timeLimitMs = 0;
      options.effort = 4;
      searched += judge.search(*found, options);
      EXPECT_LE(judge.leastNs(plan), found->timeNs);
      least = std::min(least, found->timeNs);
    });
    const int64_t bound =
        ScheduledBound(problem).find(infinite - 1, [] { return false; });
    EXPECT_LE(bound, least);
    met += bound > least - least / 20;
    const ScheduledPlannerResult result = planScheduled(problem, withEffort(4));
    ASSERT_TRUE(result.scheduled);
    EXPECT_EQ(result.found.timeNs, timeOf(*result.scheduled));
    EXPECT_GE(result.found.timeNs, result.found.lowerBoundNs);
    // Not always the least, but close.
    EXPECT_LE(result.found.timeNs, least + least / 50);
  }
  // It is worth something, and searches find what families do not.
  EXPECT_GT(met, 20);
  EXPECT_GT(searched, 0);
}

/// Two stages, since sums would take long. All messages in one direction take 4
/// us of the link in turn; in addition only one micro-batch's tasks and the way
/// of its gradient count.
TEST(ScheduledBound, CountsTheTurnsOnALink) {
  ChainProblem problem = equalDevices(2, 1000);
  problem.microbatches = 8;
  problem.layers = {{"a", 1000, 2000, 4000, 0, 1000000},
                    {"b", 1000, 2000, 0, 0, 1000000}};
  const ScheduledPlannerResult result = planScheduled(problem, withEffort(4));
  EXPECT_EQ(result.found.timeNs, 1000 + 8 * 4000 + 3000 + 4000 + 2000);
  EXPECT_EQ(result.found.lowerBoundNs, result.found.timeNs);
  EXPECT_EQ(result.found.stop, SearchStop::Optimal);
}

/// Plans found under other evaluators, judged by the same rules.
TEST(ScheduledPlanner, IsNotAboveThePlansOfOtherEvaluators) {
  std::mt19937 random(3);
  int compared = 0;
  for (int i = 0; i < 12; ++i) {
    ChainProblem problem = randomChain(random, 6, 6);
    if (i % 2)
      addNics(random, problem);
    const ChainPlannerOptions options = withEffort(2);
    const ScheduledPlannerResult result = planScheduled(problem, options);
    ASSERT_TRUE(result.scheduled);
    for (const TimedBaseline &row : scheduleBaselines(problem, options)) {
      if (!row.found.plan)
        continue;
      EXPECT_GE(row.timeNs, result.found.lowerBoundNs);
      if (std::string(row.baseline->name).find("rondo-") == 0) {
        EXPECT_LE(result.found.timeNs, row.timeNs) << row.baseline->name;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 24);
}

TEST(ScheduledPlanner, SameSeedAndEffortGiveTheSame) {
  std::mt19937 random(9);
  const ChainProblem problem = randomChain(random, 8, 6);
  const ScheduledPlannerResult a = planScheduled(problem, withEffort(3)),
                               b = planScheduled(problem, withEffort(3));
  EXPECT_EQ(a.found.timeNs, b.found.timeNs);
  EXPECT_TRUE(*a.found.plan == *b.found.plan);
  EXPECT_TRUE(a.scheduled->orders() == b.scheduled->orders());
}

TEST(ScheduledPlanner, FitsWhereOneMicrobatchUnderWayFits) {
  ChainProblem problem = twoLayers();
  problem.microbatches = 6;
  problem.nodeOf = {0, 0};
  problem.bytesPerUs.assign(4, 1000);
  // Both layers fit no device alone; the first stage's 100 of state leave room
  // for one micro-batch, so that it never runs ahead.
  problem.memoryBytes = 149;
  ScheduledPlannerResult result = planScheduled(problem, withEffort(2));
  ASSERT_TRUE(result.scheduled);
  EXPECT_EQ(result.found.plan->size(), 2u);
  EXPECT_EQ(result.found.memoryBytes, 140);
  EXPECT_EQ(result.found.timeNs, timeOf(*result.scheduled));
  // 9 + 24 + 10 + 20 + 24 + 11 for each micro-batch.
  EXPECT_EQ(result.found.timeNs, 6 * 98);
  problem.memoryBytes = 139;
  result = planScheduled(problem, withEffort(2));
  EXPECT_FALSE(result.scheduled);
  EXPECT_FALSE(result.found.plan);
  ASSERT_TRUE(result.found.fault);
  EXPECT_EQ(result.found.fault->found, 140);
}

TEST(ScheduledPlanner, RefusesWhatItCannotSimulate) {
  ChainProblem problem = twoLayers();
  problem.microbatches = 1 << 19;
  const ScheduledPlannerResult result = planScheduled(problem, withEffort(1));
  ASSERT_TRUE(result.found.fault);
  EXPECT_EQ(describe(*result.found.fault),
            "524288 micro-batches on 3 devices are more than evaluator rondo "
            "can simulate; micro-batches times devices may be 1048576");
}

} // namespace
