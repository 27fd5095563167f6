//===- SppTest.cpp - SPP's parts on worked examples -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/DeviceOrder.h"
#include "planning/chain/MinMaxProgram.h"
#include "schedule/families/Family.h"
#include "schedule/simulate/Simulator.h"
#include "test/unit/planning/ChainExamples.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

TEST(PlanTimer, RunsWhatComesFirstInSppsOrder) {
  ChainProblem problem = equalDevices(2, 1);
  problem.microbatches = 3;
  const std::vector<StageNs> stages = {{2, 4, 0, 1, 1}, {1, 2, 0, 0, 0}};
  EXPECT_EQ(PlanTimer(problem, PlanEvaluator::Spp).run(stages), 19);
  // With slow messages the third forward's waits for the first backward's, or
  // both go at once.
  const std::vector<StageNs> slow = {{1, 1, 0, 2, 2}, {1, 1, 0, 0, 0}};
  EXPECT_EQ(PlanTimer(problem, PlanEvaluator::Spp).run(slow), 14);
  EXPECT_EQ(PlanTimer(problem, PlanEvaluator::SppFullDuplex).run(slow), 12);
}

TEST(PlanTimer, RunsOneFOneB) {
  // F F | F B | F B | B B on stage 0; the last stage alternates.
  ChainProblem problem = equalDevices(2, 1);
  problem.microbatches = 3;
  const std::vector<StageNs> stages = {{2, 4, 0, 0, 0}, {2, 4, 0, 0, 0}};
  // 2 + 3 * (2 + 4) until the last stage ends, then a backward.
  EXPECT_EQ(PlanTimer(problem, PlanEvaluator::OneFOneB).run(stages), 24);
}

TEST(PlanTimer, SumsFollowTheLastBackward) {
  ChainProblem problem = equalDevices(2, 1);
  problem.microbatches = 2;
  std::vector<StageNs> stages = {{1, 1, 0, 0, 0}, {1, 1, 0, 0, 0}};
  for (PlanEvaluator evaluator : allPlanEvaluators) {
    PlanTimer timer(problem, evaluator);
    stages[0].allReduce = stages[1].allReduce = 0;
    const int64_t plain = timer.run(stages);
    // The last stage's sum overlaps the first one's last backward.
    stages[1].allReduce = 1;
    EXPECT_EQ(timer.run(stages), plain);
    stages[0].allReduce = 1;
    EXPECT_EQ(timer.run(stages), plain + 1);
  }
}

/// PyTorch's test of partitions: the most even cut of its layers is not the
/// fastest one.
TEST(PlanTimer, BalanceIsNotTime) {
  ChainProblem problem = equalDevices(4, 1);
  problem.microbatches = 8;
  for (int64_t forward : {8, 11, 2, 1, 18, 5, 4, 11})
    problem.layers.push_back({"l", forward, 2 * forward});
  auto cutAt = [](int32_t a, int32_t b, int32_t c) -> ChainPlan {
    return {{0, a, {0}}, {a, b, {1}}, {b, c, {2}}, {c, 8, {3}}};
  };
  auto time = [&](const ChainPlan &plan) {
    return timeOf(problem, PlanEvaluator::OneFOneB, plan);
  };
  int64_t least = infinite;
  std::vector<ChainPlan> best;
  for (int32_t a = 1; a < 6; ++a)
    for (int32_t b = a + 1; b < 7; ++b)
      for (int32_t c = b + 1; c < 8; ++c) {
        const int64_t now = time(cutAt(a, b, c));
        if (now < least)
          best.clear();
        least = std::min(least, now);
        if (now == least)
          best.push_back(cutAt(a, b, c));
      }
  EXPECT_EQ(least, 573);
  EXPECT_EQ(best, (std::vector<ChainPlan>{cutAt(3, 5, 6), cutAt(3, 5, 7)}));
  // The most even one.
  EXPECT_EQ(time(cutAt(1, 4, 5)), 600);
}

TEST(DeviceOrder, CutsWhereLinksAreSlow) {
  EXPECT_EQ(orderByMinimumCuts(twoServers()),
            (std::vector<int32_t>{0, 2, 1, 3}));
}

TEST(DeviceOrder, KeepsServersTogether) {
  // Minimum cuts take off one device after the other here: 3 x 20 + 4 x 10 for
  // one, 4 x 4 x 10 between the servers.
  ChainProblem problem = equalDevices(8, 10);
  for (int32_t u = 0; u < 8; ++u) {
    problem.nodeOf[u] = u % 2;
    for (int32_t v = 0; v < 8; ++v)
      if (u % 2 == v % 2)
        problem.bytesPerUs[u * 8 + v] = 20;
  }
  const std::vector<int32_t> order = orderByMinimumCuts(problem);
  ASSERT_EQ(order.size(), 8u);
  for (int k = 1; k < 4; ++k) {
    EXPECT_EQ(order[k] % 2, order[0] % 2);
    EXPECT_EQ(order[4 + k] % 2, order[4] % 2);
  }
}

TEST(DeviceOrder, OrdersServersOfLargeClusters) {
  // 160 devices in pairs; pairs k and k + 40 are well connected.
  ChainProblem problem = equalDevices(160, 10);
  auto pairOf = [](int32_t device) { return device / 2 % 40; };
  for (int32_t u = 0; u < 160; ++u) {
    problem.nodeOf[u] = u / 2;
    for (int32_t v = 0; v < 160; ++v)
      if (pairOf(u) == pairOf(v))
        problem.bytesPerUs[u * 160 + v] = u / 2 == v / 2 ? 100 : 50;
  }
  const std::vector<int32_t> order = orderByMinimumCuts(problem);
  ASSERT_EQ(order.size(), 160u);
  for (int k = 0; k < 160; k += 4)
    for (int i = 1; i < 4; ++i)
      EXPECT_EQ(pairOf(order[k + i]), pairOf(order[k])) << k;
}

TEST(MinMaxProgram, HasTheLeastWorkloads) {
  const ChainProblem problem = twoServers();
  const OrderedGroups groups(problem, orderByMinimumCuts(problem));
  const MinMaxProgram program(problem, groups, 4);
  ASSERT_EQ(program.maxStages(), 4);
  struct Row {
    int32_t stages, last;
    double workload, time;
    ChainPlan plan;
  };
  const Row rows[] = {
      {1, 4, 183, 183, {{0, 6, {0, 2, 1, 3}}}},
      {2, 1, 72, 91.333334, {{0, 4, {0, 2, 1}}, {4, 6, {3}}}},
      {2, 2, 45, 49, {{0, 4, {0, 2}}, {4, 6, {1, 3}}}},
      {2, 3, 108, 119.666667, {{0, 5, {0}}, {5, 6, {2, 1, 3}}}},
      {3, 1, 36.8, 59.2, {{0, 4, {0, 2}}, {4, 5, {1}}, {5, 6, {3}}}},
      {3, 2, 48, 59.6, {{0, 2, {0}}, {2, 4, {2}}, {4, 6, {1, 3}}}},
      {4, 1, 48, 73, {{0, 2, {0}}, {2, 4, {2}}, {4, 5, {1}}, {5, 6, {3}}}},
  };
  for (const Row &row : rows) {
    const std::string where = std::to_string(row.stages) + " stages, last on " +
                              std::to_string(row.last);
    // Each of at most 8 divisions rounds up by less than 1 ns.
    EXPECT_NEAR(program.workload(row.stages, row.last),
                row.workload * twoServersUnit, 8)
        << where;
    EXPECT_EQ(program.plan(row.stages, row.last), row.plan) << where;
    EXPECT_NEAR(timeOf(problem, PlanEvaluator::Spp, row.plan),
                row.time * twoServersUnit, 40)
        << where;
  }
  // All devices are in use.
  EXPECT_EQ(program.workload(1, 3), infinite);
  EXPECT_EQ(program.workload(4, 2), infinite);
}

/// The bound of specification and proof: T <= (M + 4S - 4) C + max A.
TEST(PlanTimer, KeepsSppsBound) {
  std::mt19937 random(5);
  for (int i = 0; i < 400; ++i) {
    const auto S = static_cast<int32_t>(2 + random() % 4);
    ChainProblem problem = equalDevices(S, 1);
    problem.microbatches = static_cast<int32_t>(1 + random() % 12);
    std::vector<StageNs> stages(S);
    int64_t block = 0, sum = 0;
    for (int32_t n = 0; n < S; ++n) {
      StageNs &stage = stages[n];
      stage.forward = random() % 10;
      stage.backward = random() % 20;
      stage.allReduce = random() % 30;
      if (n + 1 < S)
        stage.send = stage.sendBack = random() % 8;
      block = std::max(
          {block, stage.forward + stage.backward, stage.send + stage.sendBack});
      sum = std::max(sum, stage.allReduce);
    }
    EXPECT_LE(PlanTimer(problem, PlanEvaluator::Spp).run(stages),
              (problem.microbatches + 4 * S - 4) * block + sum);
  }
}

/// The simulated time of family `spp` on a chain with these times.
int64_t simulatedSpp(const std::vector<StageNs> &stages, int32_t microbatches) {
  const auto S = static_cast<int32_t>(stages.size());
  Problem problem;
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(S, noMemoryCap);
  for (int32_t n = 0; n < S; ++n)
    problem.replicas.addStage(n);
  for (int32_t n = 0; n < S; ++n) {
    problem.setStageCost(n, stages[n].forward, stages[n].backward, 0, 0, 0);
    if (n + 1 == S)
      continue;
    // A byte takes a nanosecond. Both messages have as many bytes, so that
    // different times are latencies.
    problem.links[{n, n + 1}] = {0, 1000};
    problem.links[{n + 1, n}] = {stages[n].sendBack - stages[n].send, 1000};
  }
  std::vector<int64_t> bytes;
  for (const StageNs &stage : stages)
    bytes.push_back(stage.send);
  problem.makeChain(bytes);
  EXPECT_FALSE(problem.check());
  FamilyResult result = generate(*parseFamily("spp"), problem);
  return simulate(problem, *result).makespanNs;
}

/// The evaluator's time is that of the family's order where messages are free,
/// and not below it where links have two directions and channels do not.
TEST(PlanTimer, TimesTheOrderOfFamilySpp) {
  std::mt19937 random(11);
  int64_t faster = 0;
  for (int i = 0; i < 300; ++i) {
    const auto S = static_cast<int32_t>(1 + random() % 6);
    ChainProblem problem = equalDevices(S, 1);
    problem.microbatches = static_cast<int32_t>(1 + random() % 12);
    const bool isFree = i % 3 == 0;
    std::vector<StageNs> stages(S);
    for (int32_t n = 0; n < S; ++n) {
      stages[n].forward = random() % 10;
      stages[n].backward = random() % 20;
      if (n + 1 < S && !isFree) {
        stages[n].send = random() % 8;
        stages[n].sendBack = stages[n].send + random() % 4;
      }
    }
    const int64_t timed = PlanTimer(problem, PlanEvaluator::Spp).run(stages),
                  simulated = simulatedSpp(stages, problem.microbatches);
    if (isFree || S == 1)
      EXPECT_EQ(simulated, timed);
    else
      EXPECT_LE(simulated, timed);
    faster += simulated < timed;
  }
  EXPECT_GT(faster, 0);
}

} // namespace
