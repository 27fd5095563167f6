//===- ZbvAutoTest.cpp - Caps and uneven stages of zbv-auto ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "RandomProblem.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(ZbvAuto, KeepsEveryCap) {
  expectEveryCapKept("zbv-auto",
                     [](int32_t ranks) { return waveRanks(ranks, 2); });
}

TEST(ZbvAuto, SaysWhichRankHasNoRoom) {
  Problem problem =
      problemOn(waveRanks(2, 2), 2, 4, {1, 1, 1, /*activation=*/3, 0});
  problem.memoryCaps = {6, 5};
  FamilyResult made = generate(*parseFamily("zbv-auto"), problem);
  ASSERT_TRUE(!made);
  EXPECT_EQ(describe(made.fault()),
            "zbv-auto needs room for a micro-batch, 6 bytes, on rank 1; its "
            "cap is 5");
}

/// If messages are slow, more memory than P activations helps.
TEST(ZbvAuto, UsesTheRoomThatThereIs) {
  Problem problem = problemOn(waveRanks(8, 2), 8, 32, {10, 10, 10, 1, 0});
  problem.link.latencyNs = 8;
  problem.objective = Objective::Span;
  auto spanWith = [&](int64_t cap) {
    problem.memoryCaps.assign(8, cap);
    return simulate(problem, generateFamily("zbv-auto", problem)).spanNs;
  };
  EXPECT_LT(spanWith(32), spanWith(16));
}

} // namespace
