//===- ThinnedTest.cpp - Families with fewer micro-batches in flight ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/search/Search.h"
#include "schedule/search/Thinned.h"
#include "schedule/simulate/Objective.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

struct Thinning {
  FamilyChoice choice;
  Schedule family;
  std::optional<Schedule> result;
};

Thinning thin(const Problem &problem, const std::string &family) {
  const auto choice = *parseFamily(family);
  Schedule given = generateFamily(family, problem);
  SearchOptions options;
  options.timeLimitMs = 0;
  Budget budget(options);
  auto result = thinned(problem, choice, given, budget);
  return {choice, std::move(given), std::move(result)};
}

/// The same with caps of this share of what the fullest rank needs.
Problem withCaps(const Problem &problem, const std::string &family,
                 double share) {
  Simulation simulation;
  EXPECT_FALSE(
      checkAndSimulate(problem, generateFamily(family, problem), simulation));
  Problem result = problem;
  result.memoryCaps.assign(problem.numRanks(),
                           int64_t(share * double(fullestPeak(simulation))));
  return result;
}

TEST(Thinned, KeepsCapsAndAllMicrobatches) {
  std::mt19937 random(5);
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  int64_t found = 0;
  for (int n = 0; n < 60; ++n) {
    const auto ranks = int32_t(pick(2, 10));
    const auto microbatches = int32_t(pick(2, 40));
    const int64_t activation = pick(1, 8);
    const Unit unit = {pick(1, 9), pick(1, 9), pick(1, 9), activation,
                       pick(0, activation)};
    const bool isV = pick(0, 1);
    Problem problem =
        isV ? problemOn(waveRanks(ranks, 2), ranks, microbatches, unit)
            : linearProblem(ranks, microbatches, unit);
    problem.link.latencyNs = pick(0, 4);
    const std::string family = isV          ? pick(0, 1) ? "v-half" : "zbv"
                               : pick(0, 1) ? "1f1b"
                                            : "zb-h1";
    problem = withCaps(problem, family, double(pick(70, 99)) / 100);
    const auto thinning = thin(problem, family);
    if (!thinning.result)
      continue;
    ++found;
    // All rules: each task of each micro-batch once, and the caps.
    EXPECT_EQ(verdict(problem, *thinning.result), "") << family << " " << n;
  }
  EXPECT_GT(found, 30);
}

TEST(Thinned, LeavesOutOnlyWhatDoesNotFit) {
  // With room for all, nothing is left out.
  Problem problem = problemOn(waveRanks(6, 2), 6, 20);
  auto thinning = thin(withCaps(problem, "v-half", 1), "v-half");
  ASSERT_TRUE(thinning.result);
  ASSERT_EQ(thinning.result->numActions(), thinning.family.numActions());
  for (int64_t i = 0; i < thinning.family.numActions(); ++i)
    EXPECT_EQ(thinning.result->all()[i], thinning.family.all()[i]);
  EXPECT_FALSE(isThinnable(withCaps(problem, "v-half", 1), thinning.family));
  // Half of the memory holds too few of them.
  const Problem half = withCaps(problem, "v-half", 0.5);
  EXPECT_FALSE(isThinnable(half, thinning.family));
  thinning = thin(half, "v-half");
  EXPECT_FALSE(thinning.result);
}

TEST(Thinned, ANearMissCostsLittle) {
  // One activation less than v-half needs, whose pace is that of the work, six
  // slots for a micro-batch. About one in seventeen is missing.
  Problem problem = problemOn(waveRanks(16, 2), 16, 64);
  Simulation whole;
  checkAndSimulate(problem, generateFamily("v-half", problem), whole);
  problem.memoryCaps.assign(16, fullestPeak(whole) - 1);
  const auto thinning = thin(problem, "v-half");
  EXPECT_TRUE(isThinnable(problem, thinning.family));
  ASSERT_TRUE(thinning.result);
  Simulation simulation;
  ASSERT_FALSE(checkAndSimulate(problem, *thinning.result, simulation));
  EXPECT_LE(objectiveOf(problem, simulation),
            objectiveOf(problem, whole) + 6 * (64 / 17 + 2));
}

TEST(Thinned, IsTriedByTheSearch) {
  // With unequal task times, no other part of a short search finds an equally
  // good pattern.
  Problem problem = problemOn(waveRanks(32, 2), 32, 128, {5000, 4900, 3700});
  problem.link.latencyNs = 400;
  problem = withCaps(problem, "v-half", 0.95);
  const auto thinning = thin(problem, "v-half");
  ASSERT_TRUE(thinning.result);
  Simulation simulation;
  ASSERT_FALSE(checkAndSimulate(problem, *thinning.result, simulation));
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 2000;
  EXPECT_LE(objectiveOf(problem, search(problem, options).simulation),
            objectiveOf(problem, simulation));
}

} // namespace
