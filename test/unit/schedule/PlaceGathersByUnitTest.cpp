//===- PlaceGathersByUnitTest.cpp - Gathers for units of micro-batches ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GathersText.h"
#include "ShardedChain.h"

#include "schedule/simulate/Simulator.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// The last chunk stays for its backwards; the first is gathered again while
/// those run.
TEST(PlaceGathersByUnit, AChunkIsGatheredForItsPhases) {
  const Problem problem = shardedChain(2, 2, 2, 2);
  const Schedule tasks = tasksOf(problem, "looped-bfs");
  EXPECT_EQ(gathersText(problem, placeGathersByUnit(problem, tasks, 2), 0),
            "U0 U2 F0.0 F0.1 R0 F2.0 F2.1 U0 B2.1 B2.0 R2 S2 B0.1 B0.0 R0 S0");
}

/// zeropp.md, section 4: 2 V - 1 gathers and V reductions of a unit.
TEST(PlaceGathersByUnit, CountsOfAUnit) {
  const int32_t groups = 2, shards = 2, ranks = groups * shards;
  for (int32_t chunks : {2, 3, 4}) {
    const Problem problem = shardedChain(groups, chunks, shards, 4);
    const GatherCounts one = countGathers(
        problem,
        placeGathersByUnit(problem, tasksOf(problem, "looped-bfs"), 4));
    EXPECT_EQ(one.gathers, int64_t(ranks) * (2 * chunks - 1));
    EXPECT_EQ(one.reductions, int64_t(ranks) * chunks);
    // Two units. The Ws of one read weights among the Fs of the next, so that
    // the first chunk stays between them.
    const Problem longer = shardedChain(groups, chunks, shards, 8);
    const GatherCounts two = countGathers(
        longer,
        placeGathersByUnit(longer, tasksOf(longer, "blockwise:u=4"), 4));
    EXPECT_LE(two.gathers, int64_t(ranks) * 2 * (2 * chunks - 1));
    // With two chunks that holds for both.
    if (chunks > 2) {
      EXPECT_GT(two.gathers, one.gathers);
    }
    EXPECT_EQ(two.reductions, int64_t(ranks) * 2 * chunks);
  }
}

/// Whatever the order and the unit.
TEST(PlaceGathersByUnit, KeepsTheRules) {
  for (ShardedState how : {ShardedState::Weights, ShardedState::Gradients,
                           ShardedState::Optimizer})
    for (const char *family :
         {"looped-bfs", "1f1b", "zb-h2", "interleaved-1f1b", "interleaved-zb",
          "blockwise:u=2", "blockwise:u=3"})
      for (int32_t chunks : {1, 2, 3}) {
        const bool isLinear = family[0] == '1' || family[0] == 'z';
        if (chunks > 1 && isLinear)
          continue;
        const Problem problem = shardedChain(2, chunks, 2, 6, how);
        const Schedule tasks = tasksOf(problem, family);
        for (int64_t unit : {1, 2, 3, 4, 6, 9}) {
          const Schedule placed = placeGathersByUnit(problem, tasks, unit);
          EXPECT_EQ(judge(problem, placed), "")
              << family << " " << chunks << " " << unit;
          const Schedule bare = withoutMoves(placed);
          ASSERT_EQ(bare.numActions(), tasks.numActions());
          EXPECT_TRUE(std::equal(bare.all().begin(), bare.all().end(),
                                 tasks.all().begin()));
          if (how == ShardedState::Weights)
            continue;
          EXPECT_EQ(countGathers(problem, placed).gathers,
                    problem.numReplicas());
        }
      }
}

} // namespace
