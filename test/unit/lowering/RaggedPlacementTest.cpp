//===- RaggedPlacementTest.cpp - Places of buffers of many sizes ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/RaggedPlacement.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace rondo;

namespace {

/// The largest sum of sizes that live at one position.
int64_t peakOf(const std::vector<RaggedLife> &lives, int64_t positions) {
  int64_t peak = 0;
  for (int64_t at = 0; at < positions; ++at) {
    int64_t sum = 0;
    for (const RaggedLife &life : lives)
      sum += life.first <= at && at <= life.last ? life.size : 0;
    peak = std::max(peak, sum);
  }
  return peak;
}

std::vector<RaggedLife> randomLives(std::mt19937 &random, int64_t positions) {
  auto upTo = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(0, most)(random);
  };
  std::vector<RaggedLife> lives(1 + upTo(60));
  const int64_t longest = 1 + upTo(positions / 2);
  for (RaggedLife &life : lives) {
    life.size = 1 + upTo(upTo(2) == 0 ? 1000 : 20);
    life.first = upTo(positions - 1);
    life.last = std::min(positions - 1, life.first + upTo(longest));
  }
  return lives;
}

TEST(RaggedPlacement, BuffersThatLiveAtOnceDoNotOverlap) {
  std::mt19937 random(11);
  int64_t placed = 0, counted = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<RaggedLife> lives = randomLives(random, 80);
    const RaggedPlacement placement = placeRagged(lives);
    int64_t sum = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
      sum += lives[i].size;
      ASSERT_GE(placement.offsets[i], 0);
      ASSERT_LE(placement.offsets[i] + lives[i].size, placement.size);
      for (size_t k = 0; k < i; ++k) {
        const bool meet =
            lives[k].first <= lives[i].last && lives[i].first <= lives[k].last;
        const bool overlap =
            placement.offsets[k] < placement.offsets[i] + lives[i].size &&
            placement.offsets[i] < placement.offsets[k] + lives[k].size;
        ASSERT_FALSE(meet && overlap) << i << " and " << k;
      }
    }
    const int64_t peak = peakOf(lives, 80);
    EXPECT_GE(placement.size, peak);
    EXPECT_LE(placement.size, sum);
    EXPECT_EQ(placeRagged(lives).offsets, placement.offsets);
    placed += placement.size;
    counted += peak;
  }
  // First fit decreasing wastes little on such lives.
  EXPECT_LE(placed, counted * 5 / 4);
}

TEST(RaggedPlacement, EqualSizesTakeAsMuchAsLiveAtOnce) {
  // As slots of equal size: intervals need no more colours than meet.
  const std::vector<RaggedLife> lives = {
      {5, 0, 3}, {5, 1, 4}, {5, 4, 6}, {5, 5, 8}, {5, 7, 9}};
  EXPECT_EQ(placeRagged(lives).size, 10);
}

TEST(RaggedPlacement, PairsThatMustNotOverlapMayBeStated) {
  // One after another in the list, but the second begins before the first ends.
  const std::vector<RaggedLife> lives = {{3, 0, 1}, {2, 2, 3}, {2, 4, 5}};
  EXPECT_EQ(placeRagged(lives).size, 3);
  const auto areAtOnce = [](size_t a, size_t b) { return a + b == 1; };
  const RaggedPlacement placement = placeRagged(lives, areAtOnce);
  EXPECT_EQ(placement.size, 5);
  EXPECT_EQ(placement.offsets, (std::vector<int64_t>{0, 3, 0}));
}

TEST(RaggedPlacement, PoolsAreOfArenasAndHaveFewSlots) {
  // Two buffers of replicas on two ranks, which one rank runs.
  const std::vector<SlotSize> sizes = {{0, 1 << 20, PoolUse::Any},
                                       {1, 1 << 20, PoolUse::Any}};
  std::vector<Life> lives;
  for (int32_t i = 0; i < 3; ++i)
    for (int32_t buffer : {0, 1})
      lives.push_back({buffer, i, 2 * i, 2 * i + 3});
  const int64_t bytes[] = {int64_t(1) << 30, 64, int64_t(3) << 28};
  Program program;
  program.places.resize(2);
  const Result<std::vector<NeededPool>> found = assignRagged(
      lives, sizes, [&](const Life &life) { return bytes[life.index]; },
      /*microbatches=*/3, program);
  ASSERT_TRUE(found);
  const std::vector<NeededPool> &pools = *found;
  ASSERT_EQ(pools.size(), 2u);
  for (size_t k = 0; k < pools.size(); ++k) {
    EXPECT_EQ(pools[k].size.rank, int32_t(k));
    EXPECT_LE(pools[k].slots, maxRaggedSlots);
    EXPECT_EQ(pools[k].size.bytes % bufferAlignment, 0);
    ASSERT_EQ(pools[k].buffers, std::vector<int32_t>{int32_t(k)});
    const Place &place = program.places[k];
    ASSERT_EQ(place.slotOf.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_GE(place.spans[i] * pools[k].size.bytes, bytes[i]);
      EXPECT_LE(place.slotOf[i] + place.spans[i], pools[k].slots);
    }
  }
}

// Also a buffer without bytes takes a slot.
TEST(RaggedPlacement, TooManyBuffersAtOnceAreRefused) {
  const std::vector<SlotSize> sizes = {{0, 0, PoolUse::Any}};
  auto assign = [&](int32_t count) {
    std::vector<Life> lives;
    for (int32_t i = 0; i < count; ++i)
      lives.push_back({0, i, 0, 1});
    Program program;
    program.places.resize(1);
    return assignRagged(
        lives, sizes, [](const Life &) { return int64_t(0); }, count, program);
  };
  EXPECT_TRUE(assign(100));
  const Result<std::vector<NeededPool>> tooMany = assign(maxRaggedSlots + 1);
  ASSERT_FALSE(tooMany);
  EXPECT_EQ(tooMany.fault().kind, FaultKind::TooManyBuffers);
}

} // namespace
