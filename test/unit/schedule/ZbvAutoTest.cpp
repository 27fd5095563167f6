//===- ZbvAutoTest.cpp - Caps and uneven stages of zbv-auto ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Uneven stages, messages and caps; a rank holds `room` micro-batches or one
/// more.
Problem unevenV(int32_t ranks, int32_t microbatches, int64_t room,
                std::mt19937 &random) {
  Problem problem = problemOn(waveRanks(ranks, 2), ranks, microbatches);
  auto below = [&](int64_t n) { return int64_t(random() % uint64_t(n)); };
  std::vector<int64_t> bytes(ranks);
  for (int32_t s = 0; s < 2 * ranks; ++s) {
    const int64_t takes = below(5);
    problem.setStageCost(s, below(9), below(9), below(9), takes,
                         below(takes + 1));
    bytes[problem.rankOf(s)] += takes;
  }
  for (int32_t rank = 0; rank < ranks; ++rank)
    problem.memoryCaps[rank] = bytes[rank] * room + below(bytes[rank] + 1);
  problem.link.latencyNs = below(12);
  return problem;
}

TEST(ZbvAuto, KeepsEveryCap) {
  std::mt19937 random(7);
  for (int32_t ranks : {1, 2, 3, 5, 8})
    for (int32_t microbatches : {1, 2, 3, 7, 16})
      for (int64_t room : {1, 2, 3, 5, 8, 20})
        for (Objective objective : {Objective::Makespan, Objective::Span}) {
          Problem problem = unevenV(ranks, microbatches, room, random);
          problem.objective = objective;
          EXPECT_EQ(verdict(problem, generateFamily("zbv-auto", problem)), "")
              << ranks << " " << microbatches << " " << room;
        }
}

TEST(ZbvAuto, SaysWhichRankHasNoRoom) {
  Problem problem =
      problemOn(waveRanks(2, 2), 2, 4, {1, 1, 1, /*activation=*/3, 0});
  problem.memoryCaps = {6, 5};
  FamilyResult made =
      generate(std::get<FamilyChoice>(parseFamily("zbv-auto")), problem);
  ASSERT_TRUE(std::holds_alternative<Fault>(made));
  EXPECT_EQ(describe(std::get<Fault>(made)),
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
