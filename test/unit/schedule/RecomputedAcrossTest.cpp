//===- RecomputedAcrossTest.cpp - R that begins with another stage's R ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/transforms/Recomputed.h"

#include "SegmentedRecomputation.h"
#include "WindowExamples.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/search/Search.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Lets stages recompute in segments: the first of each keeps one byte of a
/// micro-batch from F on, and R of every stage takes one.
void addSegments(Problem &problem, int64_t length, int64_t againNs = 1) {
  problem.recomputation.assign(problem.numReplicas(), Recomputation::FromInput);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const bool isFirst = s % length == 0;
    if (!isFirst)
      problem.recomputation[s] = Recomputation::FromStage;
    problem.cost(s, ActionKind::Forward).acquireBytes = isFirst;
    problem.cost(s, ActionKind::Recompute) = {againNs, 1, 0};
    problem.cost(s, ActionKind::InputGrad).releaseBytes = 0;
    problem.cost(s, ActionKind::WeightGrad).releaseBytes = 1 + isFirst;
    problem.cost(s, ActionKind::Backward).releaseBytes = 1 + isFirst;
  }
  problem.addRecomputedEdges();
  EXPECT_FALSE(problem.check());
}

TEST(RecomputedAcross, HasAnEdgeForEachStageThatFeedsIt) {
  Problem problem = linearProblem(5, 4);
  const size_t before = problem.edges.size();
  addSegments(problem, 2);
  ASSERT_EQ(problem.edges.size(), before + 2);
  for (int32_t k : {0, 1}) {
    const Edge &edge = problem.edges[before + k];
    EXPECT_EQ(edge.from, 2 * k);
    EXPECT_EQ(edge.to, 2 * k + 1);
    EXPECT_EQ(edge.message(), MessageKind::Recomputed);
    EXPECT_EQ(edge.stageEdge, problem.edges[before - 1].stageEdge + 1 + k);
  }
  EXPECT_EQ(distancesInSegments(problem),
            (std::vector<int32_t>{1, 0, 1, 0, 0}));
  const Problem plain = withoutRecomputation(problem);
  EXPECT_EQ(plain.edges.size(), before);
  EXPECT_TRUE(plain.isChain());
  EXPECT_FALSE(problem.isChain());
}

FaultKind wrongWith(const Problem &problem) {
  const auto fault = problem.check();
  EXPECT_TRUE(fault);
  return fault ? fault->kind : FaultKind::Cycle;
}

TEST(RecomputedAcross, IsRefusedWhereAnEndDoesNotRecompute) {
  Problem problem = linearProblem(3, 2);
  addSegments(problem, 3);
  Problem wrong = problem;
  wrong.recomputation[1] = Recomputation::FromInput;
  EXPECT_EQ(wrongWith(wrong), FaultKind::RecomputedForNone);
  wrong = problem;
  wrong.recomputation[0] = Recomputation::None;
  wrong.cost(0, ActionKind::Recompute) = Cost();
  wrong.cost(0, ActionKind::WeightGrad).releaseBytes = 0;
  wrong.cost(0, ActionKind::Backward).releaseBytes = 0;
  EXPECT_EQ(wrongWith(wrong), FaultKind::RecomputedByNone);
  wrong = problem;
  wrong.edges.pop_back();
  EXPECT_EQ(wrongWith(wrong), FaultKind::RecomputedInPart);
  wrong = problem;
  wrong.recomputation[0] = Recomputation::FromStage;
  EXPECT_EQ(wrongWith(wrong), FaultKind::RecomputedFromNone);
}

// R waits for the R that feeds it, in time and in the rules.
TEST(RecomputedAcross, WaitsForTheOther) {
  Problem problem = linearProblem(2, 1);
  addSegments(problem, 2, /*againNs=*/5);
  auto scheduleOf = [&](std::vector<Action> first, std::vector<Action> second) {
    Schedule schedule;
    for (const std::vector<Action> &order : {first, second}) {
      for (Action action : order)
        schedule.append(action);
      schedule.endRank();
    }
    return schedule;
  };
  auto of = [](ActionKind kind, int32_t stage) {
    return Action(kind, stage, 0);
  };
  using K = ActionKind;
  const Schedule inTurn =
      scheduleOf({of(K::Forward, 0), of(K::Recompute, 0), of(K::Backward, 0)},
                 {of(K::Forward, 1), of(K::Recompute, 1), of(K::Backward, 1)});
  Simulation simulation;
  ASSERT_FALSE(
      checkAndSimulate(problem, inTurn, simulation, /*keepTimes=*/true));
  EXPECT_EQ(simulation.startNs[4], simulation.endNs[1]);
  EXPECT_GT(simulation.startNs[4], simulation.endNs[3]);
}

// PipeMare's order and its counts: 256 micro-batches of activations become 140,
// and one more at the first stage of each of 4 segments, whose rank runs the F
// of a slot before R.
TEST(RecomputedAcross, HoldsWhatPipeMareCounts) {
  for (auto [stages, length] :
       {std::pair<int32_t, int64_t>(16, 4), std::pair<int32_t, int64_t>(9, 3),
        std::pair<int32_t, int64_t>(7, 3)}) {
    Problem window = windowOf(stages, 2, 40);
    addSegments(window, length);
    const Window run = runFamily("pipemare:spatial=1", window);
    const auto found = recomputeInSegments(stages, length);
    int64_t sum = 0;
    for (int32_t s = 0; s < stages; ++s) {
      EXPECT_EQ(run.simulation.peakBytes[s],
                found[s].held() + (s % length == 0))
          << stages << " " << s;
      sum += run.simulation.peakBytes[s];
    }
    if (stages == 16) {
      EXPECT_EQ(sum, 140 + 4);
    }
  }
}

// R has a delay of its own: 2j / N updates between it and the backward.
TEST(RecomputedAcross, HasADelayOfItsOwn) {
  const int32_t stages = 8;
  const int64_t length = 4, each = 2;
  Problem window = windowOf(stages, each, 40);
  addSegments(window, length);
  window.versions.assign(stages, {ForwardWeights::Live, BackwardWeights::Live,
                                  BackwardActivations::Live, anyDelay});
  const Window run = runFamily("pipemare:spatial=1", window);
  const auto found = recomputeInSegments(stages, length);
  for (int32_t s = 0; s < stages; ++s) {
    const ReplicaVersions &replica = run.versions.replicas[s];
    EXPECT_EQ(replica.recomputeDelay.mean() - replica.backwardDelay.mean(),
              found[s].delay(each))
        << s;
    EXPECT_LE(replica.recomputeDelay.mean(), replica.forwardDelay.mean());
    // The input of R is there already.
    EXPECT_EQ(replica.copies, 1) << s;
  }
  // As F read it: then its version must stay.
  window.versions.assign(stages, {ForwardWeights::Live, BackwardWeights::Live,
                                  BackwardActivations::Graph, anyDelay});
  const Window graph = runFamily("pipemare:spatial=1", window);
  EXPECT_EQ(graph.versions.replicas[0].recompute,
            graph.versions.replicas[0].forward);
  EXPECT_GT(graph.versions.replicas[0].copies, 1);
}

// The iteration drains as well, and R is early enough to cost no time.
TEST(RecomputedAcross, HoldsLessThanWithinStages) {
  for (const char *family : {"1f1b", "gpipe", "zb-h1"}) {
    Problem across = linearProblem(8, 24);
    addSegments(across, 4);
    Problem within = linearProblem(8, 24);
    addSegments(within, 1);
    const Schedule one = generateFamily(family, across),
                   other = generateFamily(family, within);
    Simulation first, second;
    ASSERT_FALSE(checkAndSimulate(across, one, first)) << family;
    ASSERT_FALSE(checkAndSimulate(within, other, second)) << family;
    int64_t held = 0, heldWithin = 0;
    for (int32_t s = 0; s < 8; ++s) {
      held += first.peakBytes[s];
      heldWithin += second.peakBytes[s];
    }
    EXPECT_LT(held, heldWithin) << family;
    // The first R goes through a segment, from stage to stage.
    EXPECT_LE(first.makespanNs, second.makespanNs + 3) << family;
  }
}

TEST(RecomputedAcross, IsSearchedOverFamilies) {
  Problem problem = linearProblem(4, 6);
  addSegments(problem, 2);
  const SearchResult found = search(problem, {});
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(checkSchedule(problem, *found.schedule));
  EXPECT_GE(found.simulation.makespanNs, found.bound.ns);
}

// Stages of a segment share ranks: R of all of them comes where no rank waits
// for one that waits for it.
TEST(RecomputedAcross, RunsWithSeveralStagesARank) {
  struct Case {
    const char *family;
    bool isFolded;
  };
  for (const Case &each :
       std::initializer_list<Case>{{"interleaved-1f1b", false},
                                   {"interleaved-zb", false},
                                   {"blockwise", false},
                                   {"looped-bfs", false},
                                   {"zbv", true},
                                   {"v-half", true},
                                   {"v-min", true},
                                   {"dualpipe-v", true},
                                   {"wave", true}})
    for (int64_t length : {2, 4, 8})
      for (int32_t ranks : {2, 4}) {
        Problem problem = problemOn(each.isFolded ? waveRanks(ranks, 2)
                                                  : loopedRanks(ranks, 2),
                                    ranks, 2 * ranks);
        addSegments(problem, length);
        const Schedule schedule = generateFamily(each.family, problem);
        const auto fault = checkSchedule(problem, schedule);
        EXPECT_FALSE(fault) << each.family << " " << length << " " << ranks
                            << ": " << describe(*fault, problem);
      }
}

} // namespace
