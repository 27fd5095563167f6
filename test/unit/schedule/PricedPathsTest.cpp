//===- PricedPathsTest.cpp - Bound LB8 and what it is made of -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"
#include "Exhaustive.h"
#include "RandomProblem.h"

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/CheapestPath.h"
#include "schedule/bounds/PricedPaths.h"
#include "schedule/bounds/Simplex.h"
#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <limits>
#include <numeric>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t anyCeiling = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// Games
//===----------------------------------------------------------------------===//

using Columns = std::vector<std::vector<double>>;

/// Least value of a mix of rows.
double leastOf(const Columns &columns, const std::vector<double> &mix) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto &column : columns)
    least = std::min(
        least, std::inner_product(mix.begin(), mix.end(), column.begin(), 0.0));
  return least;
}

/// Solves it with all columns at once.
void expectValue(const Columns &columns, double value) {
  Simplex game(columns.front().size());
  for (const auto &column : columns)
    game.addColumn(column);
  int64_t pivots = 10000;
  EXPECT_TRUE(game.solve(pivots));
  EXPECT_NEAR(game.value(), value, 1e-7);
  EXPECT_NEAR(leastOf(columns, game.mix()), value, 1e-7);
}

TEST(Simplex, KnownGames) {
  // Rock, paper, scissors, with 1 added to all.
  expectValue({{1, 2, 0}, {0, 1, 2}, {2, 0, 1}}, 1);
  // One row is best.
  expectValue({{3, 1}, {2, 1}}, 2);
  expectValue({{1, 4}, {3, 2}}, 2.5);
  // A row that is never better.
  expectValue({{0, 0, 2}, {0, 1, 0}}, 2.0 / 3);
  expectValue({{5}}, 5);
}

TEST(Simplex, OfRandomColumnsAddedOneAfterAnother) {
  Engine random(3);
  for (int n = 0; n < 100; ++n) {
    const auto rows = size_t(pick(random, 1, 30));
    Simplex game(rows);
    Columns columns;
    for (int64_t count = pick(random, 1, 60); count > 0; --count) {
      std::vector<double> column(rows);
      // Many zeros and equal entries, so that ties occur.
      for (double &entry : column)
        entry = double(std::max<int64_t>(0, pick(random, -4, 4)));
      column[size_t(pick(random, 0, int64_t(rows) - 1))] += 1;
      game.addColumn(column);
      columns.push_back(std::move(column));
      int64_t pivots = 10000;
      ASSERT_TRUE(game.solve(pivots)) << n;
      ASSERT_NEAR(game.value(), leastOf(columns, game.mix()), 1e-6) << n;
    }
    // Columns that are not in use change nothing.
    const double value = game.value();
    Columns kept;
    for (size_t number : game.prune(0))
      kept.push_back(columns[number]);
    EXPECT_EQ(kept.size(), game.columns());
    EXPECT_LE(kept.size(), rows);
    int64_t pivots = 10000;
    EXPECT_TRUE(game.solve(pivots));
    EXPECT_NEAR(game.value(), value, 1e-6) << n;
    EXPECT_NEAR(leastOf(kept, game.mix()), value, 1e-6) << n;
  }
}

TEST(Simplex, LimitsAndWorthsOfTwoColumns) {
  Engine random(5);
  for (int n = 0; n < 300; ++n) {
    const auto rows = size_t(pick(random, 1, 8));
    std::vector<double> limits(rows), first(rows), second(rows);
    for (size_t r = 0; r < rows; ++r) {
      limits[r] = double(pick(random, 0, 9));
      first[r] = double(pick(random, 1, 6));
      second[r] = double(pick(random, -2, 6));
    }
    second[0] = 1;
    const double worths[] = {double(pick(random, 0, 5)),
                             double(pick(random, 0, 5))};
    Simplex simplex(limits);
    simplex.addColumn(first, worths[0]);
    simplex.addColumn(second, worths[1]);
    int64_t pivots = 1000;
    ASSERT_TRUE(simplex.solve(pivots)) << n;
    const std::vector<double> amounts = simplex.amountsOfColumns();
    const auto fits = [&](double x, double y) {
      bool is = x >= -1e-7 && y >= -1e-7;
      for (size_t r = 0; r < rows; ++r)
        is &= x * first[r] + y * second[r] <= limits[r] + 1e-7;
      return is;
    };
    EXPECT_TRUE(fits(amounts[0], amounts[1])) << n;
    // The best corner: two of the rows and axes meet there.
    double most = 0;
    const auto visit = [&](double x, double y) {
      if (fits(x, y))
        most = std::max(most, worths[0] * x + worths[1] * y);
    };
    for (size_t r = 0; r < rows; ++r) {
      visit(limits[r] / first[r], 0);
      if (second[r] != 0)
        visit(0, limits[r] / second[r]);
      for (size_t q = 0; q < r; ++q)
        if (const double det = first[r] * second[q] - first[q] * second[r];
            det != 0)
          visit((limits[r] * second[q] - limits[q] * second[r]) / det,
                (first[r] * limits[q] - first[q] * limits[r]) / det);
    }
    EXPECT_NEAR(worths[0] * amounts[0] + worths[1] * amounts[1], most, 1e-6)
        << n;
  }
}

TEST(Simplex, StopsAfterSomePivots) {
  Simplex game(3);
  for (const std::vector<double> &column :
       Columns{{1, 2, 0}, {0, 1, 2}, {2, 0, 1}})
    game.addColumn(column);
  int64_t pivots = 1;
  EXPECT_FALSE(game.solve(pivots));
  // It is still a mix.
  EXPECT_NEAR(game.mix()[0] + game.mix()[1] + game.mix()[2], 1, 1e-9);
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

/// Cost of a path at prices.
double costOf(const CheapestPath &cheapest, const PathStarts &starts,
              const std::vector<double> &time,
              const std::vector<double> &memory) {
  const std::vector<double> use = cheapest.useOf(starts);
  double cost = 0;
  for (size_t i = 0; i < cheapest.pieces(); ++i)
    cost += use[i] * time[i] + use[cheapest.pieces() + i] * memory[i];
  return cost;
}

TEST(CheapestPath, NoRandomPathIsCheaper) {
  Engine random(5);
  auto real = [&] { return double(pick(random, 0, 1000)) / 1000; };
  int64_t paths = 0;
  for (int n = 0; n < 500; ++n) {
    const Problem problem = drawTiny(random);
    const FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Least);
    for (const RankPath &path : rankPathsOf(flat)) {
      int64_t objective = path.begin() + 1;
      while (path.slack(objective) < 1)
        ++objective;
      objective += pick(random, 0, 20);
      const auto begin = double(path.begin()),
                 end = double(objective - path.endOffset);
      std::vector<double> knots = {begin}, time, memory;
      for (int64_t count = pick(random, 0, 6); count > 0; --count)
        knots.push_back(begin + (0.01 + 0.98 * real()) * (end - begin));
      knots.push_back(end);
      std::sort(knots.begin(), knots.end());
      knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
      for (size_t i = 1; i < knots.size(); ++i) {
        time.push_back(real());
        memory.push_back(real());
      }
      CheapestPath cheapest(path, objective, knots);
      const double least = cheapest.leastCost({time, memory});
      if (std::isinf(least))
        continue;
      // The cheapest path has the reported cost.
      double found = std::numeric_limits<double>::infinity();
      for (const PathStarts &starts : cheapest.cheapPaths(3))
        found = std::min(found, costOf(cheapest, starts, time, memory));
      EXPECT_NEAR(found, least, 1e-6) << n;
      // Starts at random, each no earlier than that before it.
      for (int i = 0; i < 20; ++i) {
        const size_t size = path.operations.size();
        PathStarts starts;
        for (size_t o = 0; o < size; ++o) {
          const RankPath::Operation &operation = path.operations[o];
          starts.push_back(real() * double(objective - operation.tail -
                                           operation.ns - operation.head));
        }
        for (size_t o = size - 1; o-- > 0;)
          starts[o] = std::min(starts[o], starts[o + 1]);
        for (size_t l = 0; l < path.leaves.size(); ++l) {
          const RankPath::Operation &leaf = path.leaves[l];
          const double from = starts[path.leaves.size() + l],
                       to = double(objective - leaf.tail - leaf.ns - leaf.head);
          starts.push_back(from + real() * (to - from));
        }
        EXPECT_GE(costOf(cheapest, starts, time, memory), least - 1e-6) << n;
        ++paths;
      }
    }
  }
  EXPECT_GT(paths, 10000);
}

//===----------------------------------------------------------------------===//
// Bound
//===----------------------------------------------------------------------===//

/// Bound of any rank, from the rough bound on.
int64_t boundOf(const Problem &problem, int64_t known) {
  int64_t best = known;
  const FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat.isChain || !flat.offsetsAreExact)
    return best;
  for (const RankPath &path : rankPathsOf(flat)) {
    int64_t effort = 20000;
    if (path.slack(known) > 0)
      best = std::max(best, pricedPathsBound(path, problem.microbatches, known,
                                             anyCeiling, effort));
  }
  return best;
}

TEST(PricedPaths, NoScheduleIsShorter) {
  Engine random(29);
  int64_t checked = 0, aboveRough = 0, aboveQuick = 0;
  for (int n = 0; n < caseCount(2000); ++n) {
    const Problem problem = drawTiny(random);
    ASSERT_FALSE(problem.check()) << n;
    const int64_t rough = roughBound(problem).ns;
    const int64_t ns = boundOf(problem, rough);
    aboveRough += ns > rough;
    aboveQuick += ns > quickBound(problem).ns;
    const auto answer = Exhaustive(problem, ns, /*inOrder=*/true).below(20000);
    EXPECT_NE(answer, Exhaustive::Answer::Yes) << n << ", bound " << ns;
    checked += answer == Exhaustive::Answer::No;
    EXPECT_LE(pricedPaths().compute(problem, anyCeiling, 20000),
              std::max(ns, quickBound(problem).ns))
        << n;
  }
  EXPECT_GT(checked, caseCount(1900));
  EXPECT_GT(aboveRough, caseCount(700));
  // Also above what LB1 to LB4 prove together.
  EXPECT_GT(aboveQuick, caseCount(5));
}

/// Half of the memory that 1F1B takes, and several stages per rank.
Problem halfMemory(int32_t ranks, int32_t chunks, int32_t microbatches) {
  Problem problem = problemOn(loopedRanks(ranks, chunks), ranks, microbatches,
                              {2500, 2750, 2000, 2, 0});
  problem.link.latencyNs = 500;
  problem.memoryCaps.assign(ranks, int64_t(ranks) * chunks);
  return problem;
}

int64_t boundL8(const Problem &problem, int64_t ceiling, int64_t effort) {
  return pricedPaths().compute(problem, ceiling, effort);
}

TEST(PricedPaths, SeeWhatARankCannotUseOfItsMemory) {
  const Problem problem = halfMemory(16, 2, 64);
  const int64_t known = memoryPrecedence().compute(problem, anyCeiling, 0);
  EXPECT_GE(boundL8(problem, anyCeiling, 1000000), known + known / 50);
}

/// Several stages per rank, uneven, with caps that are tight for several
/// micro-batches.
TEST(PricedPaths, NoFoundScheduleIsShorter) {
  Engine random(31);
  int64_t proven = 0, above = 0;
  for (int n = 0; n < 100; ++n) {
    const auto ranks = int32_t(pick(random, 2, 3));
    const int64_t ns[] = {pick(random, 1, 9), pick(random, 1, 9),
                          pick(random, 0, 9)};
    Problem problem =
        problemOn(loopedRanks(ranks, 2), ranks, int32_t(pick(random, 4, 8)));
    for (int32_t s = 0; s < problem.numStages(); ++s)
      problem.setStageCost(s, ns[0] + pick(random, 0, 1),
                           ns[1] + pick(random, 0, 1), ns[2],
                           pick(random, 2, 3), pick(random, 0, 1));
    problem.link.latencyNs = pick(random, 0, 3);
    problem.memoryCaps.assign(ranks, pick(random, 6, 13));
    if (pick(random, 0, 2) == 0)
      problem.objective = Objective::Span;
    ASSERT_FALSE(problem.check()) << n;
    SearchOptions options;
    options.effort = 1000;
    options.timeLimitMs = 0;
    const SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule) << n;
    proven += result.provenOptimal;
    const int64_t rough = roughBound(problem).ns;
    const int64_t ns8 = boundOf(problem, rough);
    EXPECT_LE(ns8, objectiveOf(problem, result.simulation)) << n;
    above += ns8 > quickBound(problem).ns;
  }
  EXPECT_GT(proven, 50);
  EXPECT_GT(above, 8);
}

TEST(PricedPaths, StopAtTheCeilingAndWithTheEffort) {
  const Problem problem = halfMemory(8, 2, 32);
  const int64_t known = memoryPrecedence().compute(problem, anyCeiling, 0);
  const int64_t all = boundL8(problem, anyCeiling, 1000000);
  ASSERT_GT(all, known + 1000);
  // The same each time.
  EXPECT_EQ(boundL8(problem, anyCeiling, 1000000), all);
  EXPECT_EQ(boundL8(problem, known + 1000, 1000000), known + 1000);
  EXPECT_EQ(boundL8(problem, known - 1, 1000000), known - 1);
  EXPECT_EQ(boundL8(problem, anyCeiling, 4), known);
}

/// The effort ends before the other slow bounds have a turn.
TEST(PricedPaths, AreTriedEarly) {
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 1000;
  EXPECT_STREQ(search(halfMemory(16, 2, 64), options).bound.name, "L8");
}

TEST(PricedPaths, OfManyTasks) {
  const Problem problem = halfMemory(16, 2, 12000);
  ASSERT_GT(3 * 32 * problem.microbatches, maxDetailedTasks);
  EXPECT_GT(boundL8(problem, anyCeiling, 100000), roughBound(problem).ns);
}

TEST(PricedPaths, LeaveOutWhatIsNotTight) {
  Problem problem = halfMemory(8, 2, 32);
  problem.memoryCaps.assign(8, 64);
  EXPECT_EQ(boundL8(problem, anyCeiling, 1000000), 0);
  // A single stage per rank.
  EXPECT_EQ(boundL8(halfMemory(8, 1, 32), anyCeiling, 1000000), 0);
}

} // namespace
