//===- PartitionTest.cpp - The chosen cut against all cuts ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/partition/Partition.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

std::optional<Partition> cut(const PartitionInput &input,
                             int64_t maxLabels = 2000) {
  Result<Partition> result = partitionLayers(input, maxLabels);
  if (result)
    return std::move(*result);
  const FaultKind kind = result.fault().kind;
  EXPECT_TRUE(kind == FaultKind::NoCut || kind == FaultKind::FewLayers);
  return std::nullopt;
}

/// The least work of the busiest rank over all cuts that fit; -1 if none does.
int64_t bestOfAll(const PartitionInput &input, std::vector<int32_t> begins) {
  const size_t stages = input.rankOfStage.size();
  const int32_t layers = static_cast<int32_t>(input.bytes.size());
  if (begins.size() == stages) {
    begins.push_back(layers);
    std::vector<int64_t> work(input.memoryCaps.size()), bytes(work.size());
    for (size_t s = 0; s < stages; ++s)
      for (int32_t l = begins[s]; l < begins[s + 1]; ++l) {
        work[input.rankOfStage[s]] += input.workNs[input.rankOfStage[s]][l];
        bytes[input.rankOfStage[s]] += input.bytes[l];
      }
    for (size_t r = 0; r < work.size(); ++r)
      if (bytes[r] > input.memoryCaps[r])
        return -1;
    return *std::max_element(work.begin(), work.end());
  }
  int64_t best = -1;
  for (int32_t next = begins.back() + 1; next < layers; ++next) {
    std::vector<int32_t> longer = begins;
    longer.push_back(next);
    int64_t found = bestOfAll(input, longer);
    if (found >= 0 && (best < 0 || found < best))
      best = found;
  }
  return best;
}

TEST(Partition, FindsTheBestOfAllCuts) {
  std::mt19937 random(3);
  auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
  int fitting = 0;
  for (int k = 0; k < 200; ++k) {
    const int32_t ranks = 1 + below(3), chunks = 1 + below(3);
    PartitionInput input;
    input.rankOfStage =
        k % 2 ? waveRanks(ranks, chunks) : loopedRanks(ranks, chunks);
    const int64_t layers = ranks * chunks + below(4);
    // Ranks of different speeds in every third case.
    std::vector<int64_t> work;
    for (int64_t l = 0; l < layers; ++l) {
      work.push_back(1 + below(9));
      input.bytes.push_back(below(4));
    }
    for (int32_t r = 0; r < ranks; ++r) {
      input.workNs.push_back(work);
      for (int64_t &ns : input.workNs.back())
        ns *= k % 3 ? 1 : 1 + r;
      input.memoryCaps.push_back(k % 4 ? noMemoryCap : layers);
    }
    std::optional<Partition> found = cut(input);
    int64_t best = bestOfAll(input, {0});
    ASSERT_EQ(found.has_value(), best >= 0) << k;
    if (!found)
      continue;
    ++fitting;
    EXPECT_TRUE(found->isExact);
    EXPECT_EQ(found->busiestNs, best) << k;
    EXPECT_EQ(found->leastNs, best) << k;
    EXPECT_EQ(found->begins.front(), 0);
    EXPECT_EQ(found->begins.back(), layers);
    for (size_t s = 0; s + 1 < found->begins.size(); ++s)
      EXPECT_LT(found->begins[s], found->begins[s + 1]);
  }
  EXPECT_GT(fitting, 100);
}

TEST(Partition, TakesTheMostEvenOfTheBest) {
  PartitionInput input;
  input.rankOfStage = loopedRanks(2, 2);
  input.bytes.assign(8, 0);
  input.workNs.assign(2, std::vector<int64_t>(8, 5));
  input.memoryCaps.assign(2, noMemoryCap);
  EXPECT_EQ(cut(input)->begins, (std::vector<int32_t>{0, 2, 4, 6, 8}));
}

/// `layers` on `ranks` equal ranks.
PartitionInput inputOf(std::vector<int32_t> rankOfStage, int32_t ranks,
                       const std::vector<int64_t> &work) {
  PartitionInput input;
  input.rankOfStage = std::move(rankOfStage);
  input.workNs.assign(ranks, work);
  input.bytes.assign(work.size(), 0);
  input.memoryCaps.assign(ranks, noMemoryCap);
  return input;
}

/// Work that varies between layers.
std::vector<int64_t> unevenWork(int layers, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> work;
  for (int l = 0; l < layers; ++l)
    work.push_back(1000 + static_cast<int64_t>(random() % 1000));
  return work;
}

TEST(Partition, TwoChunksAreExactAmongAllCuts) {
  std::mt19937 random(11);
  for (int k = 0; k < 60; ++k) {
    const int32_t ranks = 2 + k % 3;
    PartitionInput input =
        inputOf(k % 2 ? waveRanks(ranks, 2) : loopedRanks(ranks, 2), ranks,
                unevenWork(2 * ranks + 5, random()));
    for (int64_t &bytes : input.bytes)
      bytes = 1 + static_cast<int64_t>(random() % 5);
    // Ranks whose times are not proportional to each other, and tight caps.
    for (int32_t r = 0; r < ranks && k % 3 == 0; ++r)
      for (int64_t &ns : input.workNs[r])
        ns += static_cast<int64_t>(random() % 700);
    for (int64_t &cap : input.memoryCaps)
      cap = k % 4 < 2 ? noMemoryCap : 11 + static_cast<int64_t>(random() % 5);
    std::optional<Partition> found = cut(input);
    const int64_t best = bestOfAll(input, {0});
    ASSERT_EQ(found.has_value(), best >= 0) << k;
    if (found) {
      EXPECT_TRUE(found->isExact) << k;
      EXPECT_EQ(found->busiestNs, best) << k;
    }
  }
}

TEST(Partition, TwoChunksOfLargeModelsAreExact) {
  for (bool isV : {false, true}) {
    PartitionInput input = inputOf(isV ? waveRanks(16, 2) : loopedRanks(16, 2),
                                   16, unevenWork(96, 5));
    std::optional<Partition> found = cut(input);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->isExact);
    auto busiest = [&](const std::vector<int32_t> &begins) {
      std::vector<int64_t> work(16);
      for (size_t s = 0; s < input.rankOfStage.size(); ++s)
        for (int32_t l = begins[s]; l < begins[s + 1]; ++l)
          work[input.rankOfStage[s]] += input.workNs[0][l];
      return *std::max_element(work.begin(), work.end());
    };
    EXPECT_EQ(busiest(found->begins), found->busiestNs);
    // Moving a border does not help.
    for (size_t border = 1; border < input.rankOfStage.size(); ++border)
      for (int step : {-1, 1}) {
        std::vector<int32_t> moved = found->begins;
        moved[border] += step;
        if (moved[border] > moved[border - 1] &&
            moved[border] < moved[border + 1]) {
          EXPECT_GE(busiest(moved), found->busiestNs) << border;
        }
      }
  }
}

/// Blocks are equal, and the head is smaller than a block. Not every rank can
/// have six blocks, as one also has the head.
TEST(Partition, ProvesTheCutOfAGpt) {
  std::vector<int64_t> work(98, 75000);
  work.front() = 1000;
  work.back() = 52000;
  for (int32_t chunks : {2, 3, 4})
    for (bool isWave : {false, true}) {
      if (isWave && chunks == 3)
        continue;
      PartitionInput input = inputOf(
          isWave ? waveRanks(16, chunks) : loopedRanks(16, chunks), 16, work);
      std::optional<Partition> found = cut(input);
      ASSERT_TRUE(found);
      EXPECT_TRUE(found->isExact) << chunks << isWave;
      // In a wave the embedding is on the head's rank.
      EXPECT_EQ(found->busiestNs, 6 * 75000 + 52000 + (isWave ? 1000 : 0));
    }
}

TEST(Partition, SaysWhereLabelsWereCutOff) {
  PartitionInput input = inputOf(waveRanks(4, 4), 4, unevenWork(40, 1));
  std::optional<Partition> few = cut(input, 50);
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->isExact);
  std::optional<Partition> many = cut(input);
  EXPECT_LE(many->busiestNs, few->busiestNs);
  EXPECT_LT(few->leastNs, few->busiestNs);
  EXPECT_LE(few->leastNs, many->busiestNs);
  // No rank can have less than its share.
  int64_t all = 0;
  for (int64_t ns : input.workNs[0])
    all += ns;
  EXPECT_LE(many->busiestNs, all / 4 * 103 / 100);
}

TEST(Partition, KnowsAnIntervalForTheBestCutWithFewLabels) {
  int open = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    PartitionInput input = inputOf(waveRanks(3, 4), 3, unevenWork(16, seed));
    const int64_t best = bestOfAll(input, {0});
    std::optional<Partition> few = cut(input, 2);
    if (!few)
      continue;
    EXPECT_LE(few->leastNs, best) << seed;
    EXPECT_GE(few->busiestNs, best) << seed;
    open += few->leastNs < few->busiestNs;
  }
  EXPECT_GT(open, 0);
}

TEST(Partition, NeedsALayerForEachStage) {
  PartitionInput input;
  input.rankOfStage = {0, 1, 2};
  input.workNs.assign(3, {1, 1});
  input.bytes = {0, 0};
  input.memoryCaps.assign(3, noMemoryCap);
  EXPECT_EQ(describe(partitionLayers(input).fault()),
            "3 stages need as many layers; there are 2");
}

} // namespace
