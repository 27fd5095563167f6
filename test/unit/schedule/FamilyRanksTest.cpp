//===- FamilyRanksTest.cpp - Families and the numbers of ranks ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Only the order of stages counts: with other numbers for the ranks, and ranks
/// without stages among them, every family writes the same orders.
TEST(Families, RanksMayHaveAnyNumbers) {
  const std::vector<int32_t> numbers = {4, 1, 6, 0};
  for (const Family &family : families()) {
    FamilyChoice choice = *parseFamily(family.name);
    int compared = 0;
    for (int32_t chunks : {1, 2})
      for (bool isWave : {false, true}) {
        const std::vector<int32_t> ranks =
            isWave ? waveRanks(4, chunks) : loopedRanks(4, chunks);
        std::vector<int32_t> others;
        for (int32_t rank : ranks)
          others.push_back(numbers[rank]);
        FamilyResult result = generate(choice, problemOn(ranks, 4, 8));
        const Problem renamed = problemOn(others, 7, 8);
        FamilyResult other = generate(choice, renamed);
        ASSERT_EQ(bool(result), bool(other)) << family.name;
        if (!result)
          continue;
        const Schedule &schedule = *other;
        ASSERT_EQ(verdict(renamed, schedule), "") << family.name;
        for (int32_t rank = 0; rank < 4; ++rank) {
          const ActionRange own = result->rank(rank),
                            its = schedule.rank(numbers[rank]);
          ASSERT_TRUE(
              std::equal(own.begin(), own.end(), its.begin(), its.end()))
              << family.name << " " << rank;
        }
        ++compared;
      }
    EXPECT_GE(compared, 1) << family.name;
  }
}

} // namespace
