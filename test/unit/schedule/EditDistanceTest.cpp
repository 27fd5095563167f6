//===- EditDistanceTest.cpp - Suggestions for mistyped words --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/EditDistance.h"

#include "gtest/gtest.h"

using namespace rondo;

TEST(EditDistance, CountsEditsAndSwaps) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("", "rank"), 4u);
  EXPECT_EQ(editDistance("rank", "rank"), 0u);
  EXPECT_EQ(editDistance("rank", "rnak"), 1u);
  EXPECT_EQ(editDistance("rank", "rak"), 1u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  // A swapped pair is not edited again.
  EXPECT_EQ(editDistance("ca", "abc"), 3u);
}

TEST(EditDistance, SuggestsTheNearestWord) {
  const std::vector<std::string> known = {"--effort", "--data", "--date"};
  EXPECT_EQ(nearestWord("--efort", known), "--effort");
  EXPECT_EQ(nearestWord("--EFFORT", known), "--effort");
  // Equally near: the first in alphabetical order.
  EXPECT_EQ(nearestWord("--dat", known), "--data");
  // Two of six letters may be wrong, three may not.
  EXPECT_EQ(nearestWord("--dxxa", known), "--data");
  EXPECT_EQ(nearestWord("--xxxa", known), "");
  EXPECT_EQ(nearestWord("", known), "");
}
