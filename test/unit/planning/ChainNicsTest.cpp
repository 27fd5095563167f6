//===- ChainNicsTest.cpp - Messages through shared NICs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ChainExamples.h"

#include "planning/chain/BestLinks.h"
#include "planning/chain/OrderedGroups.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace rondo;

namespace {

int64_t inTurn(const ChainProblem &problem, const std::vector<int32_t> &from,
               const std::vector<int32_t> &to) {
  return linkBetween(problem, from.data(), static_cast<int32_t>(from.size()),
                     to.data(), static_cast<int32_t>(to.size()))
      .inTurn;
}

TEST(ChainNics, PathsAreNicsInsteadOfPairs) {
  ChainProblem problem = equalDevices(8, 1000);
  EXPECT_EQ(inTurn(problem, {0, 1}, {2, 3}), 1);
  // NICs of two devices each, in servers of their own.
  problem.nicOf = problem.nodeOf = {0, 0, 1, 1, 2, 2, 3, 3};
  EXPECT_EQ(inTurn(problem, {0}, {1}), 1);
  // One NIC on each side: one path for all four pieces.
  EXPECT_EQ(inTurn(problem, {0, 1}, {2, 3}), 4);
  // Two on each side, and on one: as many paths as the smaller number.
  EXPECT_EQ(inTurn(problem, {0, 1, 2, 3}, {4, 5, 6, 7}), 16 / 2);
  EXPECT_EQ(inTurn(problem, {0, 1}, {4, 5, 6, 7}), 8 / 1);
  EXPECT_EQ(inTurn(problem, {0, 2}, {4, 6}), 4 / 2);
  // Messages inside a NIC's group do not cross the NIC.
  EXPECT_EQ(inTurn(problem, {0, 2}, {1, 3}), 1);
  EXPECT_EQ(inTurn(problem, {0, 2, 4}, {1, 3, 5}), 2);
  // Two NICs in each of two servers: nothing crosses them within, and both
  // serve the other server.
  problem.nodeOf = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(inTurn(problem, {0, 1}, {2, 3}), 1);
  EXPECT_EQ(inTurn(problem, {0, 1, 2, 3}, {4, 5, 6, 7}), 16 / 2);
  EXPECT_EQ(inTurn(problem, {0, 2}, {4, 6}), 4 / 2);
  EXPECT_EQ(inTurn(problem, {0, 1, 4}, {2, 5}), 2);
  // Devices without a NIC share none.
  problem.nodeOf = {0, 0, 1, 1, 2, 2, 3, 3};
  problem.nicOf = {0, 0, -1, -1, -1, -1, -1, -1};
  EXPECT_EQ(inTurn(problem, {0, 1}, {2, 3}), 4);
  EXPECT_EQ(inTurn(problem, {2, 3}, {4, 5}), 1);
}

TEST(ChainNics, MessagesTakeAsLongAsThePiecesInTurn) {
  ChainProblem problem = equalDevices(4, 1000);
  problem.layers = {{"a", 1, 1, 8000}, {"b", 1, 1}};
  ChainCosts costs(problem);
  EXPECT_EQ(costs.messageNs(1, 2, 2, 1000, 5), 5 + 2000);
  EXPECT_EQ(costs.messageNs(1, 2, 2, 1000, 5, 4), 5 + 8000);
  EXPECT_DOUBLE_EQ(costs.messageShare(2, 2, 4), 1);
  // Whole samples: 5 of 8 pieces of 3 samples are 2 of them.
  problem.samples = 3;
  const ChainCosts whole(problem);
  EXPECT_EQ(whole.messageNs(1, 2, 4, 1000, 0, 5), 8000 * 2 / 3 + 1);
  EXPECT_EQ(whole.messageNs(1, 2, 4, 1000, 0, 1), 8000 / 3 + 1);
  EXPECT_DOUBLE_EQ(whole.messageShare(2, 4, 5), 2. / 3);
}

TEST(ChainNics, OrderedGroupsCountAsAnyGroupsDo) {
  std::mt19937 random(3);
  for (int32_t unit : {1, 2}) {
    ChainProblem problem = randomChain(random, 2, 12);
    for (int32_t &node : problem.nodeOf)
      node = static_cast<int32_t>(random() % 3);
    addNics(random, problem);
    std::vector<int32_t> order(12);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const OrderedGroups groups(problem, order, unit);
    int shared = 0;
    for (int32_t first = 0; first < groups.numUnits(); ++first)
      for (int32_t middle = first + 1; middle < groups.numUnits(); ++middle)
        for (int32_t end = middle + 1; end <= groups.numUnits(); ++end) {
          const int64_t expected =
              inTurn(problem, groups.devices(first, middle),
                     groups.devices(middle, end));
          EXPECT_EQ(groups.across(first, middle, end).inTurn, expected);
          shared += expected > 1;
        }
    EXPECT_GT(shared, 10);
  }
}

TEST(ChainNics, NoGroupsShareThemLessThanTheBest) {
  std::mt19937 random(4);
  int met = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto devices = static_cast<int32_t>(2 + random() % 8);
    ChainProblem problem = equalDevices(devices, 100);
    problem.layers = {{"a"}};
    for (int32_t &node : problem.nodeOf)
      node = static_cast<int32_t>(random() % 4);
    addNics(random, problem);
    std::vector<int32_t> row(devices);
    std::iota(row.begin(), row.end(), 0);
    std::shuffle(row.begin(), row.end(), random);
    const auto middle = static_cast<int32_t>(1 + random() % (devices - 1)),
               end = static_cast<int32_t>(middle + 1 +
                                          random() % (devices - middle));
    const int64_t found = inTurn(problem, {row.begin(), row.begin() + middle},
                                 {row.begin() + middle, row.begin() + end});
    const int64_t least = BestLinks(problem).inTurn(middle, end - middle);
    EXPECT_LE(least, found);
    met += least > 1 && least == found;
  }
  EXPECT_GT(met, 100);
}

} // namespace
