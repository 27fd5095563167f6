//===- ShardedBoundTest.cpp - What gathers and reductions take at least ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShardedChain.h"

#include "schedule/bounds/ShardedBound.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Gradients are small, so that memory is a matter of weights.
Problem chainOn(int32_t groups, int32_t chunks, int32_t microbatches,
                int64_t bytesPerUs, ShardedState how = ShardedState::Weights) {
  Problem problem = shardedChain(groups, chunks, 2, microbatches);
  problem.link = {0, bytesPerUs};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    problem.setShards(stage, how, wholeBytes, wholeBytes / 10);
  return problem;
}

/// One chunk overlaps nothing: the bound is the time.
TEST(ShardedBound, OneChunkIsGatheredFirstAndReducedLast) {
  const Problem problem = chainOn(1, 1, 4, 100);
  const Simulation run = simulate(
      problem, placeGathers(problem, tasksOf(problem, "gpipe"), {{1, 1}}));
  const Bound bound = shardedBound(problem);
  EXPECT_EQ(bound.ns, run.makespanNs);
  EXPECT_STREQ(bound.name, "G2");
  EXPECT_EQ(bound.ns - quickBound(withWholeState(problem)).ns,
            problem.cost(0, ActionKind::Unshard).ns +
                problem.cost(0, ActionKind::ReduceGrad).ns);
}

/// On slow links the lane is what takes time.
TEST(ShardedBound, MovesOfARankRunOneAfterAnother) {
  const Problem problem = chainOn(1, 3, 2, 1);
  const Bound bound = shardedBound(problem);
  EXPECT_STREQ(bound.name, "G1");
  EXPECT_EQ(bound.ns, 3 * (problem.cost(0, ActionKind::Unshard).ns +
                           problem.cost(0, ActionKind::ReduceGrad).ns));
}

/// c of three chunks are whole while the last one runs forwards, so 3 - c are
/// gathered again.
TEST(ShardedBound, ChunksWithoutRoomAreGatheredAgain) {
  Problem problem = chainOn(1, 3, 2, 1);
  const int64_t activations = 3 * 48;
  for (int32_t whole = 1; whole <= 3; ++whole) {
    problem.memoryCaps.assign(2, activations + whole * wholeBytes + 500);
    const LeastMoves least = leastMoves(problem)[0];
    EXPECT_EQ(least.gathers, 3 + (3 - whole));
    EXPECT_EQ(least.reductions, 3);
    // An order that gathers no more.
    EXPECT_EQ(countGathers(problem,
                           placeGathers(problem, tasksOf(problem, "looped-bfs"),
                                        {{whole, 1}})
                               .rank(0))
                  .gathers,
              least.gathers);
  }
  // Moves once an iteration stay.
  problem = chainOn(1, 3, 2, 1, ShardedState::Gradients);
  problem.memoryCaps.assign(2, activations + 3 * wholeBytes);
  EXPECT_EQ(leastMoves(problem)[0].gathers, 3);
}

TEST(ShardedBound, ATaskHasItsChunkBesideItsActivations) {
  Problem problem = chainOn(2, 2, 4, 1000);
  problem.memoryCaps.assign(4, 5000);
  EXPECT_EQ(withWholeStateAtMost(problem).memoryCaps,
            std::vector<int64_t>(4, 4000));
  problem.memoryCaps.assign(4, noMemoryCap);
  EXPECT_EQ(withWholeStateAtMost(problem).memoryCaps,
            std::vector<int64_t>(4, noMemoryCap));
}

/// Any legal order of families, whatever is whole.
TEST(ShardedBound, NoOrderIsBelow) {
  int64_t compared = 0, met = 0;
  for (ShardedState how : {ShardedState::Weights, ShardedState::Gradients,
                           ShardedState::Optimizer})
    for (int32_t groups : {1, 2, 3})
      for (int32_t chunks : {1, 2, 3})
        for (int64_t rate : {int64_t(1), int64_t(20), int64_t(1000)})
          for (int64_t cap : {int64_t(1700), int64_t(2800), noMemoryCap})
            for (Objective objective : {Objective::Makespan, Objective::Span}) {
              Problem problem = chainOn(groups, chunks, 4, rate, how);
              problem.memoryCaps.assign(problem.numRanks(), cap);
              problem.objective = objective;
              const Bound bound = shardedBound(problem);
              for (const char *family :
                   {"looped-bfs", "blockwise:u=2", "blockwise:u=4"}) {
                const Schedule tasks = tasksOf(problem, family);
                for (int32_t weights = 0; weights <= chunks; ++weights)
                  for (int32_t ahead : {0, int(Residency::allAhead)}) {
                    const Schedule placed =
                        placeGathers(problem, tasks, {{weights, 1, ahead}});
                    Simulation run;
                    if (checkAndSimulate(problem, placed, run))
                      continue;
                    const int64_t ns = objectiveOf(problem, run);
                    EXPECT_LE(bound.ns, ns)
                        << bound.name << " " << groups << " " << chunks << " "
                        << rate << " " << cap << " " << family;
                    ++compared;
                    met += bound.ns == ns;
                  }
              }
            }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(met, 50);
}

} // namespace
