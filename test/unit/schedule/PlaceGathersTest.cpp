//===- PlaceGathersTest.cpp - Gathers and reductions in orders ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GathersText.h"
#include "ShardedChain.h"

#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <limits>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr auto U = ActionKind::Unshard, R = ActionKind::Reshard;

/// Both chunks of a rank, one after the other; the last chunk's backward
/// follows its forward.
TEST(PlaceGathers, OneChunkAtATime) {
  const Problem problem = shardedChain(2, 2, 2, 2);
  const Schedule tasks = tasksOf(problem, "looped-bfs");
  EXPECT_EQ(gathersText(problem, placeGathers(problem, tasks, {{1, 1}}), 0),
            "U0 F0.0 F0.1 R0 U2 F2.0 F2.1 B2.1 B2.0 R2 S2 U0 B0.1 B0.0 R0 S0");
  // The second chunk is gathered while the first runs, and the first stays.
  EXPECT_EQ(gathersText(problem, placeGathers(problem, tasks, {{2, 1}}), 0),
            "U0 U2 F0.0 F0.1 F2.0 F2.1 B2.1 B2.0 R2 S2 B0.1 B0.0 R0 S0");
  // The same, but gathered when it is used.
  EXPECT_EQ(gathersText(problem, placeGathers(problem, tasks, {{2, 1, 0}}), 0),
            "U0 F0.0 F0.1 U2 F2.0 F2.1 B2.1 B2.0 R2 S2 B0.1 B0.0 R0 S0");
  // For each micro-batch.
  EXPECT_EQ(gathersText(problem, placeGathers(problem, tasks, {{0, 0}}), 0),
            "U0 F0.0 R0 U0 F0.1 R0 U2 F2.0 R2 U2 F2.1 R2 U2 B2.1 R2 S2 U2 B2.0 "
            "R2 S2 U0 B0.1 R0 S0 U0 B0.0 R0 S0");
}

/// Under ZeRO-1 and ZeRO-2 the unsharded state stays whole for any numbers.
TEST(PlaceGathers, LessIsSharded) {
  for (ShardedState how : {ShardedState::Optimizer, ShardedState::Gradients}) {
    const Problem problem = shardedChain(2, 2, 2, 2, how);
    const Schedule tasks = tasksOf(problem, "blockwise:u=1");
    const GatherCounts counts =
        countGathers(problem, placeGathers(problem, tasks, {{1, 1}}));
    EXPECT_EQ(counts.gathers, 2 * problem.numRanks());
    EXPECT_EQ(counts.reductions,
              (how == ShardedState::Optimizer ? 2 : 4) * problem.numRanks());
  }
}

/// Properties of a placement for any order and any numbers.
TEST(PlaceGathers, PlacedGathersKeepTheRules) {
  for (ShardedState how : {ShardedState::Weights, ShardedState::Gradients,
                           ShardedState::Optimizer})
    for (const char *family : {"looped-bfs", "1f1b", "zb-h1", "zb-h2",
                               "blockwise:u=2", "blockwise:u=3"})
      for (int32_t chunks : {1, 2, 3}) {
        const bool isLooped = std::string(family).rfind("blockwise", 0) == 0 ||
                              std::string(family) == "looped-bfs";
        if (chunks > 1 && !isLooped)
          continue;
        const Problem problem = shardedChain(2, chunks, 2, 6, how);
        const Schedule tasks = tasksOf(problem, family);
        for (int32_t weights = 0; weights <= chunks; ++weights)
          for (int32_t gradients = 0; gradients <= chunks; ++gradients) {
            const Schedule placed =
                placeGathers(problem, tasks, {{weights, gradients}});
            EXPECT_EQ(judge(problem, placed), "")
                << family << " " << chunks << " " << weights << " "
                << gradients;
            // The tasks keep their order.
            const Schedule bare = withoutMoves(placed);
            ASSERT_EQ(bare.numActions(), tasks.numActions());
            EXPECT_TRUE(std::equal(bare.all().begin(), bare.all().end(),
                                   tasks.all().begin()));
          }
      }
}

/// Most chunks of a rank that are gathered at once.
int64_t maxWhole(const Problem &problem, const Schedule &schedule) {
  int64_t most = 0;
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    int64_t now = 0;
    for (Action action : schedule.rank(r)) {
      now += (action.kind() == U) - (action.kind() == R);
      most = std::max(most, now);
    }
  }
  return most;
}

TEST(PlaceGathers, NoMoreChunksAreWholeThanAllowed) {
  const Problem problem = shardedChain(2, 4, 2, 8);
  const Schedule tasks = tasksOf(problem, "blockwise:u=2");
  int64_t before = std::numeric_limits<int64_t>::max();
  for (int32_t weights = 1; weights <= 4; ++weights) {
    const Schedule placed = placeGathers(problem, tasks, {{weights, 1}});
    EXPECT_EQ(maxWhole(problem, placed), weights);
    // The more, the fewer gathers.
    const int64_t gathers = countGathers(problem, placed).gathers;
    EXPECT_LT(gathers, before);
    before = gathers;
  }
  // With all, each is gathered once.
  EXPECT_EQ(before, 4 * problem.numRanks());
}

/// zeropp.md, section 4: gathers and reductions of a rank in an iteration.
TEST(PlaceGathers, CountsOfThePapersSchedules) {
  const int32_t groups = 2, shards = 2, ranks = groups * shards;
  auto countsOf = [&](const Problem &problem, const std::string &family,
                      Residency residency) {
    GatherCounts counts = countGathers(
        problem, placeGathers(problem, tasksOf(problem, family), {residency}));
    return std::pair(counts.gathers, counts.reductions);
  };
  for (int32_t microbatches : {4, 8}) {
    // 1F1B, resharded after each task: 2 M gathers, M reductions. On the last
    // ranks B follows its F, which saves a gather of each micro-batch; here F
    // and B are told apart on all.
    const Problem one = shardedChain(groups, 1, shards, microbatches);
    EXPECT_EQ(countsOf(one, "1f1b", {0, 0}),
              std::pair(int64_t(ranks) * 2 * microbatches,
                        int64_t(ranks) * microbatches));
    for (int32_t chunks : {2, 4}) {
      const Problem problem =
          shardedChain(groups, chunks, shards, microbatches);
      // Breadth first: 2 V gathers, of which the last chunk's backward needs
      // none of its own; V reductions.
      EXPECT_EQ(countsOf(problem, "looped-bfs", {1, 1}),
                std::pair(int64_t(ranks) * (2 * chunks - 1),
                          int64_t(ranks) * chunks));
      // Units of U micro-batches, N of them: at most 2 V N gathers, less
      // those of chunks that the next unit begins with, and V N reductions. W
      // reads weights, and those of one chunk run among the I of the next, so
      // that three chunks are whole.
      const int32_t units = 2;
      const std::string family =
          "blockwise:u=" + std::to_string(microbatches / units);
      const auto [gathers, reductions] = countsOf(problem, family, {3, 3});
      EXPECT_LE(gathers, int64_t(ranks) * 2 * chunks * units);
      EXPECT_LE(reductions, int64_t(ranks) * chunks * units);
      // Each chunk once at least.
      EXPECT_GE(gathers, int64_t(ranks) * chunks);
      EXPECT_GE(reductions, int64_t(ranks) * chunks);
    }
  }
}

TEST(PlaceGathers, WholeStateLeavesRoomForAChunk) {
  Problem problem = shardedChain(2, 2, 2, 4);
  problem.memoryCaps.assign(4, 5000);
  const Problem whole = withWholeState(problem);
  EXPECT_FALSE(whole.check());
  EXPECT_FALSE(whole.replicas.areSharded());
  EXPECT_EQ(whole.memoryCaps[0], 5000 - 2 * wholeBytes);
  EXPECT_EQ(whole.cost(0, U).acquireBytes, 0);
}

} // namespace
