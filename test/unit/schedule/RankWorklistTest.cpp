//===- RankWorklistTest.cpp - Ranks that a simulation goes on with --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/RankWorklist.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo;

namespace {

TEST(RankWorklist, NeighboursComeBeforeOthers) {
  RankWorklist worklist(100);
  for (int32_t rank : {5, 70, 3, 71})
    worklist.push(rank);
  EXPECT_EQ(worklist.pop(), 3);
  worklist.push(4);
  EXPECT_EQ(worklist.pop(), 4);
  EXPECT_EQ(worklist.pop(), 5);
  worklist.push(6);
  EXPECT_EQ(worklist.pop(), 6);
  EXPECT_EQ(worklist.pop(), 71);
  worklist.push(2);
  EXPECT_EQ(worklist.pop(), 70);
  EXPECT_EQ(worklist.pop(), 2);
  EXPECT_TRUE(worklist.isEmpty());
}

TEST(RankWorklist, EveryRankComesOnce) {
  for (int32_t numRanks : {1, 15, 16, 17, 64, 1000}) {
    RankWorklist worklist(numRanks);
    EXPECT_TRUE(worklist.isEmpty());
    for (int32_t rank = 0; rank < numRanks; ++rank)
      worklist.push(rank);
    std::vector<int32_t> popped;
    while (!worklist.isEmpty())
      popped.push_back(worklist.pop());
    std::sort(popped.begin(), popped.end());
    ASSERT_EQ(popped.size(), size_t(numRanks));
    for (int32_t rank = 0; rank < numRanks; ++rank)
      EXPECT_EQ(popped[rank], rank);
  }
}

} // namespace
