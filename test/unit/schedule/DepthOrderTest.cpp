//===- DepthOrderTest.cpp - Orders by depth, and their times --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/DepthOrder.h"
#include "RandomProblem.h"
#include "WindowExamples.h"
#include "schedule/search/WindowSearch.h"
#include "schedule/transforms/CutAgain.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Random costs on one stage a rank, with free steps and links that only have
/// latencies, if any.
Problem drawWindow(Engine &random, int32_t stages, int32_t each) {
  Problem problem = linearProblem(stages, each * 3);
  problem.iterations = 3;
  for (int32_t s = 0; s < stages; ++s)
    problem.setStageCost(s, pick(random, 1, 9), pick(random, 1, 9),
                         pick(random, 1, 9), 1, 0);
  problem.link.latencyNs = pick(random, 0, 4);
  EXPECT_FALSE(problem.check());
  return problem;
}

SettledTime timeOf(const Problem &problem, const DepthOrder &order) {
  Problem window = *overIterations(problem, 200);
  for (int32_t s = 0; s < window.numStages(); ++s)
    window.versions.push_back({});
  const Schedule schedule = scheduleOf(window, order);
  Simulation run;
  const auto fault = checkAndSimulate(window, schedule, run, true);
  EXPECT_FALSE(fault) << describe(*fault, window);
  const SettledTime time = settledTime(window, schedule, run);
  EXPECT_TRUE(time.isExact);
  return time;
}

TEST(LeastDepths, HaveTheTimeAndNothingToSpare) {
  Engine random(3);
  int numTight = 0;
  for (int trial = 0; trial < 80; ++trial) {
    const auto stages = int32_t(pick(random, 2, 5));
    const Problem problem =
        drawWindow(random, stages, int32_t(pick(random, 1, 3)));
    const BackwardStyle style =
        pick(random, 0, 1) ? BackwardStyle::Fused : BackwardStyle::Split;
    // From the least time to somewhat more.
    const double ns = double(iterationBound(problem)) *
                      (1 + double(pick(random, 0, 20)) / 20);
    DepthOrder order{style, leastDepths(problem, style, ns)};
    EXPECT_LE(timeOf(problem, order).each(), ns + 1e-9) << trial;
    // One less at any stage takes longer, or would wait for ever.
    for (int32_t s = 0; s < stages; ++s) {
      DepthOrder less = order;
      --less.depths[s];
      if (less.depths[s] < 1 ||
          (s + 1 < stages && less.depths[s] < less.depths[s + 1]))
        continue;
      EXPECT_GT(timeOf(problem, less).each(), ns) << trial << " stage " << s;
      ++numTight;
    }
  }
  EXPECT_GT(numTight, 100);
}

TEST(LeastDepths, AreThoseOf1F1BWithoutFlush) {
  const Problem problem = windowOf(5, 2, 4);
  const auto ns = double(iterationBound(problem));
  EXPECT_EQ(leastDepths(problem, BackwardStyle::Fused, ns),
            (std::vector<int32_t>{5, 4, 3, 2, 1}));
  // A slow first stage: four others fit into its 10 ns but for one forward.
  Problem heavy = problem;
  for (int32_t s = 0; s < 5; ++s)
    heavy.setStageCost(s, 1, 1, s == 0 ? 8 : 1, 1, 0);
  EXPECT_EQ(
      leastDepths(heavy, BackwardStyle::Fused, double(iterationBound(heavy))),
      (std::vector<int32_t>{3, 2, 1, 1, 1}));
  EXPECT_EQ(
      leastDepths(heavy, BackwardStyle::Split, double(iterationBound(heavy))),
      (std::vector<int32_t>{2, 1, 1, 1, 1}));
}

std::string ordersOf(const Schedule &schedule, const Problem &problem) {
  std::string text;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    text += r == 0 ? "" : " |";
    for (Action action : schedule.rank(r))
      text += " " + actionName(action, problem);
  }
  return text.substr(1);
}

TEST(DepthOrder, AlternatesBehindItsDepth) {
  const Problem problem = windowOf(1, 2, 2);
  auto orderOf = [&](BackwardStyle style, int32_t depth) {
    return ordersOf(scheduleOf(problem, {style, {depth}}), problem);
  };
  EXPECT_EQ(orderOf(BackwardStyle::Fused, 2),
            "0F0 0F1 0B0 0F2 0B1 0STEP0 0F3 0B2 0B3 0STEP1");
  EXPECT_EQ(orderOf(BackwardStyle::Split, 1),
            "0F0 0I0 0W0 0F1 0I1 0W1 0STEP0 0F2 0I2 0W2 0F3 0I3 0W3 0STEP1");
  EXPECT_EQ(orderOf(BackwardStyle::LateWeights, 1),
            "0F0 0I0 0F1 0W0 0I1 0W1 0STEP0 0F2 0I2 0F3 0W2 0I3 0W3 0STEP1");
  EXPECT_EQ(orderOf(BackwardStyle::Whole, 3),
            "0F0 0F1 0F2 0B0x2 0STEP0 0F3 0B2x2 0STEP1");
  // Deeper than the window is all of it.
  EXPECT_EQ(orderOf(BackwardStyle::Fused, 9),
            "0F0 0F1 0F2 0F3 0B0 0B1 0STEP0 0B2 0B3 0STEP1");
}

TEST(DepthOrder, HasWeightGradientsInTwoPositions) {
  const Problem problem = windowOf(2, 4, 8);
  const auto lateOn = [](int32_t stages) {
    return DepthOrder{BackwardStyle::LateWeights, {1, 1}, stages};
  };
  const Problem two = windowOf(2, 2, 1);
  EXPECT_EQ(ordersOf(scheduleOf(two, lateOn(1)), two),
            "0F0 0I0 0F1 0W0 0I1 0W1 0STEP0 | 1F0 1I0 1W0 1F1 1I1 1W1 1STEP0");
  // F and I of both stages, and a W of stage 0 before each iteration.
  EXPECT_EQ(timeOf(problem, lateOn(1)).each(), 17);
  // A W of one stage or of the other in every micro-batch.
  EXPECT_EQ(timeOf(problem, {BackwardStyle::Split, {1, 1}}).each(), 20);
  EXPECT_EQ(timeOf(problem, lateOn(everyStage)).each(), 20);
  EXPECT_EQ(lateOn(1).text(),
            "depths 1,1, W after the next F on 1 stage, after I on 1");
  EXPECT_EQ(lateOn(everyStage).text(), "depths 1,1, W after the next F");
}

TEST(LeastDepths, AreLessWithWeightGradientsInTwoPositions) {
  const Problem problem = windowOf(2, 4, 8);
  const auto depths = [&](BackwardStyle style, int32_t lateStages) {
    return leastDepths(problem, style, 16, lateStages);
  };
  EXPECT_EQ(depths(BackwardStyle::LateWeights, 1),
            (std::vector<int32_t>{1, 1}));
  EXPECT_EQ(depths(BackwardStyle::Split, everyStage),
            (std::vector<int32_t>{2, 1}));
  EXPECT_EQ(depths(BackwardStyle::LateWeights, everyStage),
            (std::vector<int32_t>{2, 1}));
}

TEST(SettledTime, TakesTurns) {
  // Two micro-batches are in a cycle of 15 ns: iterations of one take 7 and 8.
  Problem problem = windowOf(2, 1, 8);
  problem.setStageCost(0, 2, 2, 2, 1, 0);
  problem.setStageCost(1, 3, 3, 1, 1, 0);
  problem.link.latencyNs = 1;
  const SettledTime time = timeOf(problem, {BackwardStyle::Fused, {2, 1}});
  EXPECT_EQ(time.ns, 15);
  EXPECT_EQ(time.iterations, 2);
}

TEST(SettledTime, IsTheMeanWhereAWindowIsShort) {
  const Window run = runFamily("pipedream", windowOf(6, 1, 4));
  const SettledTime time =
      settledTime(run.problem, run.schedule, run.simulation);
  EXPECT_FALSE(time.isExact);
  EXPECT_GT(time.ns, 0);
}

TEST(IterationBound, IsTheBusiestRankOrLink) {
  Problem problem = windowOf(3, 2, 3, {}, 1000);
  problem.cost(1, ActionKind::Step).ns = 5;
  EXPECT_EQ(iterationBound(problem), 2 * 3 + 5);
  problem.link.bytesPerUs = 100; // 10000 ns a message
  EXPECT_EQ(iterationBound(problem), 20000);
}

TEST(CutAgain, KeepsTheSamples) {
  Problem problem = linearProblem(2, 12);
  problem.iterations = 3;
  problem.setStageCost(0, 10, 7, 5, 9, 4);
  problem.setStageCost(1, 10, 7, 5, 9, 4);
  problem.makeChain({30, 0});
  problem.cost(0, ActionKind::Step).ns = 8;
  const Problem cut = *cutAgain(problem, 8);
  EXPECT_EQ(cut.microbatches, 24);
  EXPECT_EQ(cut.microbatchesEach(), 8);
  EXPECT_EQ(cut.cost(0, ActionKind::Forward).ns, 5);
  EXPECT_EQ(cut.cost(0, ActionKind::InputGrad).ns, 4);
  EXPECT_EQ(cut.cost(0, ActionKind::WeightGrad).ns, 3);
  EXPECT_EQ(cut.cost(0, ActionKind::Step).ns, 8);
  EXPECT_EQ(cut.cost(0, ActionKind::Forward).acquireBytes, 5);
  EXPECT_EQ(cut.cost(0, ActionKind::InputGrad).releaseBytes, 2);
  EXPECT_EQ(cut.cost(0, ActionKind::WeightGrad).releaseBytes, 3);
  EXPECT_EQ(cut.cost(0, ActionKind::Backward).releaseBytes, 5);
  EXPECT_EQ(cut.edges[0].bytes, 15);
  // There and back: nothing that divides is lost.
  const Problem half = *cutAgain(problem, 2);
  EXPECT_EQ(half.cost(0, ActionKind::Forward).ns, 20);
  EXPECT_EQ(half.cost(0, ActionKind::Forward).acquireBytes, 18);
  problem.samples = 3;
  problem.statesSamples = true;
  EXPECT_EQ(describe(cutAgain(problem, 8).fault()),
            "the 12 samples of an iteration cannot be split into 8 equal "
            "micro-batches; 12 would work");
  EXPECT_EQ(cutAgain(problem, 6)->samples, 2);
}

} // namespace
