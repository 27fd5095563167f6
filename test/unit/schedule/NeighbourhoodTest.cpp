//===- NeighbourhoodTest.cpp - Neighbourhoods of time searched anew -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"
#include "RandomProblem.h"

#include "schedule/search/OneByOne.h"
#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Changes the order of one micro-batch at a time by neighbourhoods alone.
Incumbent moved(const Problem &problem, const FlatProblem &flat,
                int64_t effort) {
  SearchOptions options;
  options.timeLimitMs = 0;
  Budget budget(options);
  Incumbent best;
  best.orders = *toOrders(flat, oneByOne(problem));
  best.objective = Timer(flat).run(best.orders);
  neighbourhoods().make({flat, 1, best, budget})->run(effort);
  return best;
}

TEST(Neighbourhoods, KeepTheRulesAndGetNoWorse) {
  Engine random(21);
  int64_t shorter = 0, all = 0;
  for (int n = 0; n < 150; ++n) {
    Problem problem = n % 3 ? drawChain(random) : drawGraph(random);
    if (problem.check())
      continue;
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    const int64_t before =
        Timer(*flat).run(*toOrders(*flat, oneByOne(problem)));
    if (before >= never)
      continue;
    const Incumbent best = moved(problem, *flat, 20 * flat->tasks() + 5000);
    ++all;
    shorter += best.objective < before;
    EXPECT_LE(best.objective, before) << n;
    const Schedule schedule = toSchedule(*flat, best.orders, false);
    EXPECT_EQ(verdict(problem, schedule), "") << n;
    if (flat->offsetsAreExact) {
      EXPECT_EQ(objectiveOf(problem, simulate(problem, schedule)),
                best.objective)
          << n;
    }
  }
  EXPECT_GT(all, 100);
  // If one rank has all stages, nothing gets shorter.
  EXPECT_GT(shorter, all / 3);
}

/// From the slowest order, without any other part of the search.
TEST(Neighbourhoods, ReachOptima) {
  Engine random(4);
  int64_t all = 0, met = 0;
  for (int n = 0; n < caseCount(40); ++n) {
    Problem problem = problemOn(
        n % 2 ? std::vector<int32_t>{0, 1, 2}
              : std::vector<int32_t>{0, 1, 1, 0},
        n % 2 ? 3 : 2, 5,
        {pick(random, 1, 6), pick(random, 1, 6), pick(random, 1, 6), 1, 0});
    problem.memoryCaps.assign(problem.numRanks(), pick(random, 3, 5));
    SearchOptions options;
    options.effort = 5000;
    options.timeLimitMs = 0;
    const SearchResult result = search(problem, options);
    if (!result.provenOptimal)
      continue;
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    const Incumbent best = moved(problem, *flat, 2000000);
    ++all;
    met += best.objective == objectiveOf(problem, result.simulation);
    EXPECT_GE(best.objective, objectiveOf(problem, result.simulation));
  }
  EXPECT_GT(all, caseCount(30));
  EXPECT_GT(met, all * 3 / 4);
}

} // namespace
