//===- NormDelayTest.cpp - How late the norm of all gradients is ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowExamples.h"

#include "schedule/simulate/NormDelay.h"

#include "gtest/gtest.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::optional<int64_t> delayOf(const std::string &family,
                               const Problem &problem) {
  const Window run = runFamily(family, problem);
  return normDelay(run.problem, run.schedule, run.simulation);
}

// F takes 1, B 2. With N micro-batches an iteration each of S stages steps
// every 3 N, the first one 2 (S - 1) after the last one.
TEST(NormDelay, FollowsFromTheOrder) {
  EXPECT_EQ(delayOf("pipedream", windowOf(1, 2, 12)), 0);
  EXPECT_EQ(delayOf("pipedream", windowOf(2, 1, 12)), 1);
  EXPECT_EQ(delayOf("pipedream", windowOf(2, 4, 12)), 1);
  EXPECT_EQ(delayOf("pipedream", windowOf(4, 8, 12)), 1);
  EXPECT_EQ(delayOf("pipedream", windowOf(4, 1, 24)), 2);
  EXPECT_EQ(delayOf("pipedream", windowOf(8, 1, 48)), 5);
}

TEST(NormDelay, CountsLatencies) {
  Problem problem = windowOf(3, 1, 24);
  EXPECT_EQ(normNs(problem), 0);
  const int64_t without = *delayOf("pipedream", problem);
  // To the first stage's rank and back.
  problem.link.latencyNs = 2;
  problem.links[{2, 0}].latencyNs = 40;
  EXPECT_EQ(normNs(problem), 42);
  // No message of the schedule takes that link.
  EXPECT_GT(*delayOf("pipedream", problem), without);
}

TEST(NormDelay, NeedsAWindowThatSettles) {
  EXPECT_EQ(delayOf("pipedream", windowOf(4, 1, 4)), std::nullopt);
}

} // namespace
