//===- RowNumbersTest.cpp - Rows of a batch for replicas in turn ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/search/row_numbers.h"

#include "schedule/model/MicrobatchOrder.h"
#include "schedule/search/Search.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

using namespace rondo;
using namespace rondo::runtime;

namespace {

/// Row i takes `rows[i]` times as long as the shortest, in bytes as well.
Problem rowsProblem(const std::vector<std::vector<int32_t>> &ranksOfStages,
                    const std::vector<int64_t> &rows, int64_t cap) {
  Problem problem;
  problem.microbatches = static_cast<int32_t>(rows.size());
  int32_t numRanks = 0;
  for (const std::vector<int32_t> &ranks : ranksOfStages) {
    if (ranks.size() > 1)
      problem.replicas.addRoundRobinStage(ranks);
    else
      problem.replicas.addStage(ranks.front());
    numRanks = std::max(numRanks, ranks.back() + 1);
  }
  problem.memoryCaps.assign(numRanks, cap);
  problem.link = {10, 1000};
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, 100, 120, 80, /*activation=*/2, 1);
  problem.makeChain(std::vector<int64_t>(problem.numStages(), 4));
  std::vector<Cost> costs;
  for (const Cost &cost : problem.costs)
    for (int64_t row : rows)
      costs.push_back({cost.ns * row, cost.acquireBytes * row,
                       cost.releaseBytes * row, cost.lane});
  std::vector<int64_t> bytes;
  for (const Edge &edge : problem.edges)
    for (int64_t row : rows)
      bytes.push_back(edge.bytes * row);
  problem.setUneven(std::move(costs), std::move(bytes));
  EXPECT_EQ(problem.check(), std::nullopt);
  return problem;
}

/// Time of the best schedule of rows in this order.
int64_t timeOfOrder(const std::vector<std::vector<int32_t>> &ranksOfStages,
                    const std::vector<int64_t> &rows,
                    const std::vector<int32_t> &order, int64_t cap) {
  std::vector<int64_t> ordered;
  for (int32_t row : order)
    ordered.push_back(rows[row]);
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 60;
  options.orders = OrderClass::Sums;
  return search(rowsProblem(ranksOfStages, ordered, cap), options)
      .simulation.makespanNs;
}

TEST(RowNumbers, AreNearlyAsGoodAsTheBestOfAll) {
  struct Case {
    std::vector<std::vector<int32_t>> ranks;
    std::vector<int64_t> rows;
    int64_t cap;
  };
  const std::vector<Case> cases = {
      // In the given order one replica has all long rows.
      {{{0, 1}, {2, 3}}, {9, 1, 8, 1, 7}, noMemoryCap},
      {{{0}, {1, 2}}, {6, 1, 5, 2, 4}, noMemoryCap},
      {{{0, 1}, {2}}, {1, 3, 1, 9, 1}, 24},
      {{{0, 1, 2}, {3}}, {3, 3, 3, 1, 8}, noMemoryCap},
      {{{0, 1}, {2, 3, 4}}, {5, 1, 1, 4, 2}, 20},
  };
  int gains = 0;
  for (const Case &of : cases) {
    SCOPED_TRACE(testing::PrintToString(of.rows));
    const std::vector<std::vector<int32_t>> found =
        numberRows(rowsProblem(of.ranks, of.rows, of.cap), 300);
    EXPECT_EQ(found, numberRows(rowsProblem(of.ranks, of.rows, of.cap), 300));
    std::vector<int32_t> order(of.rows.size());
    std::iota(order.begin(), order.end(), 0);
    const int64_t given = timeOfOrder(of.ranks, of.rows, order, of.cap);
    int64_t best = given;
    while (std::next_permutation(order.begin(), order.end()))
      best = std::min(best, timeOfOrder(of.ranks, of.rows, order, of.cap));
    int64_t own = given;
    for (const std::vector<int32_t> &one : found) {
      ASSERT_TRUE(std::is_permutation(order.begin(), order.end(), one.begin()));
      own = std::min(own, timeOfOrder(of.ranks, of.rows, one, of.cap));
    }
    gains += own < given;
    EXPECT_LE(own, best + best / 25) << given;
  }
  EXPECT_GE(gains, 3);
}

TEST(RowNumbers, StayIfNoConstructionFits) {
  // No rank has memory for a row.
  EXPECT_EQ(numberRows(rowsProblem({{0, 1}}, {3, 1, 2}, 1), 10),
            (std::vector<std::vector<int32_t>>{{0, 1, 2}}));
}

} // namespace
