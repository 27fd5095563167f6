//===- ZbAutoTest.cpp - Caps, latency and uneven stages of zb-auto --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "RandomProblem.h"

#include "schedule/partial/FlatProblem.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(ZbAuto, KeepsEveryCap) {
  expectEveryCapKept("zb-auto",
                     [](int32_t ranks) { return loopedRanks(ranks, 1); });
}

TEST(ZbAuto, SaysWhichRankHasNoRoom) {
  Problem problem = linearProblem(2, 4, {1, 1, 1, /*activation=*/6, 0});
  problem.memoryCaps = {6, 5};
  FamilyResult made = generate(*parseFamily("zb-auto"), problem);
  ASSERT_TRUE(!made);
  EXPECT_EQ(describe(made.fault()),
            "zb-auto needs room for a micro-batch, 6 bytes, on rank 1; its cap "
            "is 5");
}

/// A schedule of fixed shape is among those that it tries, or a better one is.
TEST(ZbAuto, IsNoWorseThanFixedShapes) {
  for (int32_t ranks : {2, 3, 4, 8, 16})
    for (int32_t microbatches : {ranks, 2 * ranks, 4 * ranks})
      for (int64_t latency : {0, 1, 5})
        for (int64_t room : {ranks, 2 * ranks, 3 * ranks})
          for (Objective objective : {Objective::Makespan, Objective::Span}) {
            Problem problem =
                linearProblem(ranks, microbatches, {10, 11, 8, 1, 0});
            problem.link.latencyNs = latency;
            problem.objective = objective;
            problem.memoryCaps.assign(ranks, room);
            auto valueOf = [&](const char *family) {
              Schedule made = generateFamily(family, problem);
              return verdict(problem, made).empty()
                         ? objectiveOf(problem, simulate(problem, made))
                         : never;
            };
            const int64_t value = valueOf("zb-auto");
            EXPECT_LE(value, valueOf("zb-h1"));
            EXPECT_LE(value, valueOf("zb-h2"));
          }
}

/// If messages take time, a rank runs further ahead than in zb-h2. The first
/// rank then only waits for the first I, after the number of F that fit.
TEST(ZbAuto, RunsAheadOfLatency) {
  Problem problem = linearProblem(32, 64, {10000, 10000, 10000, 1, 0});
  problem.link.latencyNs = 1000;
  problem.memoryCaps.assign(32, 64);
  problem.objective = Objective::Span;
  const int64_t work = 64 * 30000, back = 31 * (2 * 1000 + 20000) + 10000;
  EXPECT_EQ(simulate(problem, generateFamily("zb-auto", problem)).spanNs,
            work + back - 64 * 10000);
}

} // namespace
