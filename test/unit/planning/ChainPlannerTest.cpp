//===- ChainPlannerTest.cpp - Plans against all plans ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ChainPlanner.h"
#include "planning/chain/ExactPlans.h"
#include "planning/chain/FewestDevices.h"
#include "planning/chain/LatencyProgram.h"
#include "planning/chain/PlanBound.h"
#include "planning/chain/PlanWalk.h"
#include "planning/chain/StartPlans.h"
#include "test/unit/planning/ChainExamples.h"

#include "gtest/gtest.h"

#include <numeric>
#include <set>

using namespace rondo;

namespace {

bool neverOver() { return false; }

/// Layers in order without a gap, devices that exist and are used once.
void expectValid(const ChainProblem &problem, const ChainPlan &plan) {
  int32_t layer = 0;
  std::set<int32_t> used;
  for (const ChainStage &stage : plan) {
    EXPECT_EQ(stage.first, layer);
    EXPECT_GT(stage.end, stage.first);
    EXPECT_FALSE(stage.devices.empty());
    for (int32_t device : stage.devices) {
      EXPECT_TRUE(device >= 0 && device < problem.numDevices());
      EXPECT_TRUE(used.insert(device).second);
    }
    layer = stage.end;
  }
  EXPECT_EQ(layer, problem.numLayers());
}

/// Problems whose plans can all be tried, some with a limit on memory that some
/// plans keep.
std::vector<ChainProblem> smallProblems(int count) {
  std::mt19937 random(11);
  std::vector<ChainProblem> problems;
  for (int i = 0; i < count; ++i) {
    const auto layers = static_cast<int32_t>(1 + random() % 5),
               devices = static_cast<int32_t>(1 + random() % 4);
    ChainProblem problem = randomChain(random, layers, devices);
    if (i % 2 == 1) {
      std::vector<int64_t> bytes;
      EveryPlan(problem, [&](const ChainPlan &plan) {
        bytes.push_back(memoryOf(problem, plan));
      });
      std::sort(bytes.begin(), bytes.end());
      problem.memoryBytes =
          std::max<int64_t>(1, bytes[random() % (bytes.size() / 2 + 1)]);
    }
    problems.push_back(problem);
    std::mt19937 nics(i);
    addNics(nics, problem);
    problems.push_back(std::move(problem));
  }
  return problems;
}

TEST(ChainPlanner, IsOptimalWhereAllPlansCanBeTried) {
  for (const ChainProblem &problem : smallProblems(60))
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      ChainPlannerOptions options;
      options.evaluator = evaluator;
      options.timeLimitMs = 0;
      options.effort = 1;
      const ChainPlannerResult result = planChain(problem, options);
      ASSERT_TRUE(result.plan);
      expectValid(problem, *result.plan);
      EXPECT_EQ(result.timeNs, timeOf(problem, evaluator, *result.plan));
      EXPECT_EQ(result.memoryBytes, memoryOf(problem, *result.plan));
      EXPECT_EQ(result.timeNs, leastTimeOf(problem, evaluator));
      EXPECT_EQ(result.lowerBoundNs, result.timeNs);
      EXPECT_EQ(result.stop, SearchStop::Optimal);
    }
}

TEST(ChainPlanner, SaysWhatMemoryIsMissing) {
  std::mt19937 random(3);
  int missing = 0;
  for (int i = 0; i < 40; ++i) {
    ChainProblem problem = randomChain(random, 4, 3);
    int64_t least = infinite;
    EveryPlan(problem, [&](const ChainPlan &plan) {
      least = std::min(least, memoryOf(problem, plan));
    });
    EXPECT_EQ(leastMemoryBytes(problem), least);
    if (least < 2)
      continue;
    ChainPlannerOptions options;
    options.timeLimitMs = 0;
    options.effort = 1;
    problem.memoryBytes = least;
    EXPECT_TRUE(planChain(problem, options).plan);
    problem.memoryBytes = least - 1;
    const ChainPlannerResult result = planChain(problem, options);
    ASSERT_FALSE(result.plan);
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->found, least);
    EXPECT_EQ(result.fault->allowed, least - 1);
    ++missing;
  }
  EXPECT_GT(missing, 30);
}

TEST(ChainPlanner, SameSeedAndEffortGiveTheSamePlan) {
  std::mt19937 random(8);
  const ChainProblem problem = randomChain(random, 20, 12);
  ChainPlannerOptions options;
  options.timeLimitMs = 0;
  options.effort = 5;
  options.seed = 7;
  const ChainPlannerResult first = planChain(problem, options);
  EXPECT_EQ(first.plan, planChain(problem, options).plan);
  EXPECT_EQ(first.plansTried, planChain(problem, options).plansTried);
  EXPECT_LT(first.lowerBoundNs, first.timeNs);
}

double secondsNow = 0;
double manualClock() { return secondsNow += 0.001; }

TEST(ChainPlanner, EndsAtItsTimeLimit) {
  std::mt19937 random(8);
  const ChainProblem problem = randomChain(random, 20, 12);
  ChainPlannerOptions options;
  options.timeLimitMs = 50;
  options.clock = manualClock;
  const ChainPlannerResult result = planChain(problem, options);
  ASSERT_TRUE(result.plan);
  expectValid(problem, *result.plan);
  EXPECT_EQ(result.stop, SearchStop::Time);
  // Each reading of the clock takes 1 ms; none is more than a few ms late.
  EXPECT_LT(secondsNow, 0.1);
}

TEST(PlanTimer, IsCutShortOnlyAboveTheCeiling) {
  std::mt19937 random(21);
  int cut = 0;
  for (int i = 0; i < 300; ++i) {
    const ChainProblem problem = randomChain(random, 6, 4);
    ChainPlan plan;
    const auto stages = static_cast<int32_t>(1 + random() % 4);
    for (int32_t n = 0; n < stages; ++n)
      plan.push_back({n, n + 1 == stages ? 6 : n + 1, {n}});
    std::vector<StageNs> times;
    WorkingPlan(problem, plan).times(problem, ChainCosts(problem), times);
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      PlanTimer timer(problem, evaluator);
      const int64_t time = timer.run(times);
      EXPECT_EQ(timer.run(times, time), time);
      const int64_t below = timer.run(times, time - 1);
      EXPECT_TRUE(below == time || below == infinite);
      cut += below == infinite;
    }
  }
  // Mostly seen early.
  EXPECT_GT(cut, 700);
}

TEST(PlanBound, IsBelowAllPlans) {
  int tight = 0, all = 0;
  for (ChainProblem problem : smallProblems(60)) {
    problem.memoryBytes = 0;
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      const int64_t least = leastTimeOf(problem, evaluator);
      const CostToGo rest(problem, ChainCosts(problem));
      PlanBound bounds(problem, evaluator, rest);
      const int64_t bound = bounds.find(infinite / 8, neverOver);
      EXPECT_LE(bound, least);
      EXPECT_LE(bounds.find(least, neverOver), least);
      tight += bound * 10 >= least * 9;
      ++all;
    }
  }
  EXPECT_GT(2 * tight, all);
}

/// Above 64 devices, sizes of groups are looked at in ranges.
TEST(PlanBound, IsBelowPlansOnManyDevices) {
  std::mt19937 random(31);
  const ChainProblem problem = randomChain(random, 8, 100);
  std::vector<int32_t> row(100);
  std::iota(row.begin(), row.end(), 0);
  for (PlanEvaluator evaluator : allPlanEvaluators) {
    PlanWalk walk(problem, evaluator, row, 1);
    const CostToGo rest(problem, ChainCosts(problem));
    PlanBound bounds(problem, evaluator, rest);
    CostedPlan best;
    for (const ChainPlan &plan : evenPlans(problem, row))
      if (CostedPlan costed = walk.costed(plan); costed.cost < best.cost)
        best = costed;
    int steps = 0;
    walk.anneal(best, [&] { return ++steps / 60.; });
    const int64_t bound = bounds.find(best.cost, neverOver);
    EXPECT_LE(bound, best.cost);
    EXPECT_GT(bound, best.cost / 4);
  }
}

TEST(ExactPlans, LeavesOutNothingThatIsBetter) {
  for (const ChainProblem &problem : smallProblems(60))
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      const CostToGo rest(problem, ChainCosts(problem));
      ExactPlans exact(problem, evaluator, rest);
      const ExactPlans::Result all = exact.find(infinite, 1 << 30, neverOver);
      const int64_t least = leastTimeOf(problem, evaluator);
      EXPECT_TRUE(all.isComplete);
      EXPECT_EQ(all.timeNs, least);
      // Nothing is better than the best.
      const ExactPlans::Result none = exact.find(least, 1 << 30, neverOver);
      EXPECT_TRUE(none.isComplete);
      EXPECT_TRUE(none.plan.empty());
    }
}

TEST(ExactPlans, SaysThatItWasCutShort) {
  std::mt19937 random(2);
  const ChainProblem problem = randomChain(random, 10, 6);
  const CostToGo rest(problem, ChainCosts(problem));
  ExactPlans exact(problem, PlanEvaluator::OneFOneB, rest);
  EXPECT_FALSE(exact.find(infinite, 10, neverOver).isComplete);
  EXPECT_FALSE(exact.find(infinite, 1 << 30, [] { return true; }).isComplete);
}

/// After any changes, a plan has the times of the same plan made anew.
TEST(WorkingPlan, RemembersOnlyWhatHolds) {
  std::mt19937 random(17);
  std::mt19937_64 draws(17);
  int kinds[6] = {};
  for (int i = 0; i < 40; ++i) {
    ChainProblem problem = randomChain(random, 9, 7);
    if (i % 2 == 0)
      addNics(random, problem);
    const ChainCosts costs(problem);
    const PlanMoves moves(problem);
    WorkingPlan plan(problem, {{0, 4, {0, 1, 2}}, {4, 9, {3, 4}}});
    std::vector<StageNs> times, anew;
    std::vector<PlanMove> listed;
    for (int k = 0; k < 60; ++k) {
      PlanMove move;
      if (k % 2 == 0) {
        listed.clear();
        moves.list(plan, listed);
        move = listed[draws() % listed.size()];
      } else if (!moves.draw(plan, draws, move)) {
        continue;
      }
      ++kinds[move.kind];
      move.apply(plan);
      expectValid(problem, plan.plan());
      plan.times(problem, costs, times);
      WorkingPlan copy(problem, plan.plan());
      copy.times(problem, costs, anew);
      ASSERT_EQ(times.size(), anew.size());
      for (size_t n = 0; n < times.size(); ++n) {
        EXPECT_EQ(times[n].forward, anew[n].forward);
        EXPECT_EQ(times[n].backward, anew[n].backward);
        EXPECT_EQ(times[n].allReduce, anew[n].allReduce);
        EXPECT_EQ(times[n].send, anew[n].send);
        EXPECT_EQ(times[n].sendBack, anew[n].sendBack);
      }
    }
  }
  for (int count : kinds)
    EXPECT_GT(count, 20);
}

/// On an order of the devices, the program's plans are near the best of all
/// plans over that order.
TEST(LatencyProgram, FindsPlansNearTheBestOfAnOrder) {
  std::mt19937 random(23);
  double sum = 0;
  int count = 0;
  for (int i = 0; i < 40; ++i) {
    const ChainProblem problem = randomChain(random, 5, 4);
    std::vector<int32_t> cuts(6), row = {0, 1, 2, 3};
    std::iota(cuts.begin(), cuts.end(), 0);
    const OrderedGroups groups(problem, row);
    for (PlanEvaluator evaluator : allPlanEvaluators) {
      int64_t least = infinite, found = infinite;
      EveryPlan(problem, [&](const ChainPlan &plan) {
        int32_t next = 0;
        for (const ChainStage &stage : plan)
          for (int32_t device : stage.devices)
            if (device < next)
              return;
            else
              next = device + 1;
        least = std::min(least, timeOf(problem, evaluator, plan));
      });
      LatencyProgram program(problem, groups, evaluator, cuts);
      for (double share = 1; share > 0.05; share *= 0.9)
        for (const ChainPlan &plan :
             program.solve({share * 2 * static_cast<double>(least), 1e18}, 4)) {
          expectValid(problem, plan);
          found = std::min(found, timeOf(problem, evaluator, plan));
        }
      ASSERT_LT(found, infinite);
      sum += static_cast<double>(found) / static_cast<double>(least);
      ++count;
    }
  }
  EXPECT_LT(sum / count, 1.05);
}

} // namespace
