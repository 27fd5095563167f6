//===- ModuloSlotsTest.cpp - Waves that never meet ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "RandomProblem.h"

#include "schedule/search/ModuloSlots.h"
#include "schedule/search/Search.h"
#include "schedule/search/Timer.h"
#include "schedule/simulate/Objective.h"

#include <numeric>

using namespace rondo;
using namespace rondo::test;

namespace {

FlatProblem flatOf(const Problem &problem) {
  return *FlatProblem::of(problem, BackwardCosts::Split);
}

/// A problem with room for `held` activations on each rank.
Problem capped(const std::vector<int32_t> &rankOf, int32_t ranks,
               int32_t microbatches, Unit unit, int64_t held,
               int64_t latencyNs) {
  Problem problem = problemOn(rankOf, ranks, microbatches, unit);
  problem.memoryCaps.assign(ranks, held * unit.activation);
  problem.link.latencyNs = latencyNs;
  return problem;
}

TEST(ModuloSlots, FitWhereAllRanksArePassedInOneOrder) {
  const auto fit = [](const std::vector<int32_t> &rankOf, int32_t ranks) {
    return ModuloSlots::fit(flatOf(problemOn(rankOf, ranks, 4)));
  };
  EXPECT_TRUE(fit({0, 1, 2}, 3));
  EXPECT_TRUE(fit({2, 0, 1}, 3));
  EXPECT_TRUE(fit({2, 0, 1, 2, 0, 1}, 3));
  EXPECT_FALSE(fit({0, 1, 2, 2, 1, 0}, 3));
  EXPECT_FALSE(fit({0, 1, 2, 0}, 3));
  EXPECT_FALSE(fit({0, 1, 0, 1}, 4));
  EXPECT_FALSE(fit({0, 0, 0}, 1));
  Problem slow = problemOn({0, 1, 2}, 3, 4);
  slow.setStageCost(1, int64_t(1) << 56, 1, 1, 1, 0);
  EXPECT_FALSE(ModuloSlots::fit(flatOf(slow)));
}

/// On modulo slots of the shortest length no wave waits for another one, so
/// that the first rank ends no later than its modulo slots say. With less
/// memory another rank may be the one that waits.
TEST(ModuloSlots, LetEveryWavePass) {
  for (int32_t rounds : {1, 2, 3})
    for (int32_t ranks : {2, 4, 5, 8})
      for (bool isTight : {false, true}) {
        const int32_t held =
            isTight ? ranks * rounds / 2 + rounds : 20 * rounds;
        const Problem problem = capped(loopedRanks(ranks, rounds), ranks, 20,
                                       {100, 100, 60, 4, 0}, held, 3);
        const FlatProblem flat = flatOf(problem);
        ModuloSlots slots(flat, 1);
        EXPECT_EQ(slots.slotNs(), 206);
        const int64_t endNs = slots.launch(std::vector<int32_t>(20));
        ASSERT_LT(endNs, never);
        Orders orders;
        ASSERT_TRUE(slots.toOrders(orders));
        Timer timer(flat);
        ASSERT_LT(timer.run(orders), never);
        if (!isTight) {
          EXPECT_LE(timer.starts()[0].back() + 60, endNs)
              << rounds << " " << ranks;
        }
      }
}

TEST(ModuloSlots, TakeTheTimeThatMemoryGives) {
  const Problem problem =
      capped(loopedRanks(16, 1), 16, 64, {100, 100, 80, 1, 0}, 8, 0);
  const FlatProblem flat = flatOf(problem);
  ModuloSlots slots(flat, 1);
  const int64_t taken = slots.launch(std::vector<int32_t>(64)) / slots.slotNs();
  EXPECT_GT(taken, 2 * 64);
  EXPECT_LT(taken, 2 * 64 + 24);
}

TEST(ModuloSlots, SayWhereAMicrobatchDoesNotFit) {
  Problem problem =
      capped(loopedRanks(4, 2), 4, 6, {10, 10, 6, 4, 0}, /*held=*/2, 0);
  EXPECT_LT(ModuloSlots(flatOf(problem), 1).launch(std::vector<int32_t>(6)),
            never);
  problem.memoryCaps[0] = 7;
  const FlatProblem flat = flatOf(problem);
  EXPECT_EQ(ModuloSlots(flat, 1).launch(std::vector<int32_t>(6)), never);
}

/// ModuloSlots would be short, but not so short that W takes a billion of them.
TEST(ModuloSlots, AreNotFarShorterThanW) {
  const Problem problem =
      capped(loopedRanks(3, 1), 3, 6, {0, 0, 1000000000, 1, 0}, 2, 0);
  const FlatProblem flat = flatOf(problem);
  ModuloSlots slots(flat, 1);
  EXPECT_LT(slots.launch(std::vector<int32_t>(6)), never);
  EXPECT_LT(slots.cost(), 1000);
}

/// With any costs, links, caps and delays.
TEST(ModuloSlots, KeepTheRules) {
  Engine random(5);
  int64_t made = 0, all = 0;
  for (int n = 0; n < 400; ++n) {
    const auto ranks = int32_t(pick(random, 2, 4));
    std::vector<int32_t> order(ranks);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int32_t> rankOf;
    for (int64_t rounds = pick(random, 1, 3); rounds > 0; --rounds)
      rankOf.insert(rankOf.end(), order.begin(), order.end());
    const Problem problem =
        drawChain(random, rankOf, ranks, LinkCosts(pick(random, 0, 2)));
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    ASSERT_TRUE(ModuloSlots::fit(*flat));
    ModuloSlots slots(*flat, 1 + double(pick(random, 0, 3)) / 10);
    std::vector<int32_t> delays(problem.microbatches);
    for (int32_t &delay : delays)
      delay = int32_t(std::max<int64_t>(0, pick(random, -3, 3)));
    ++all;
    Orders orders;
    if (slots.launch(delays) >= never || !slots.toOrders(orders))
      continue;
    const int64_t objective = Timer(*flat).run(orders);
    ASSERT_LT(objective, never) << n;
    ++made;
    const Schedule schedule = toSchedule(*flat, orders, false);
    EXPECT_EQ(verdict(problem, schedule), "") << n;
    if (flat->offsetsAreExact) {
      EXPECT_EQ(objectiveOf(problem, simulate(problem, schedule)), objective)
          << n;
    }
  }
  EXPECT_GT(made, all * 9 / 10);
}

/// Gap between the search and the bound on a long pipeline with half of the
/// memory of 1F1B. All other parts together stay 10 % or more above the bound.
double gapOf(int32_t ranks, int32_t microbatches, int64_t effort) {
  const Problem problem = capped(loopedRanks(ranks, 1), ranks, microbatches,
                                 {10000, 11000, 8000, 8, 0}, ranks / 2, 500);
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  const SearchResult result = search(problem, options);
  EXPECT_TRUE(result.schedule);
  EXPECT_EQ(verdict(problem, *result.schedule), "");
  return double(objectiveOf(problem, result.simulation)) /
             double(result.bound.ns) -
         1;
}

TEST(ModuloSlots, MakeLittleMemoryGoFar) {
  EXPECT_LT(gapOf(24, 96, 4000), 0.05);
}

TEST(ModuloSlots, MakeLittleMemoryGoFarForManyTasks) {
  EXPECT_LT(gapOf(48, 1400, 14000), 0.03);
}

} // namespace
