//===- PartitionTest.cpp - Cuts against all cuts --------------------------===//

#include "Examples.h"

#include "schedule/Partition.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// The least work of the busiest rank over all cuts that fit; -1 where none
/// does.
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
    // Ranks of different speed in every third case.
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
    std::optional<Partition> found = partitionLayers(input);
    int64_t best = bestOfAll(input, {0});
    ASSERT_EQ(found.has_value(), best >= 0) << k;
    if (!found)
      continue;
    ++fitting;
    EXPECT_TRUE(found->isExact);
    EXPECT_EQ(found->busiestNs, best) << k;
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
  EXPECT_EQ(partitionLayers(input)->begins,
            (std::vector<int32_t>{0, 2, 4, 6, 8}));
}

TEST(Partition, SaysWhereLabelsWereCutOff) {
  PartitionInput input;
  input.rankOfStage = waveRanks(4, 4);
  std::mt19937 random(1);
  std::vector<int64_t> work;
  for (int l = 0; l < 40; ++l)
    work.push_back(1000 + static_cast<int64_t>(random() % 1000));
  input.workNs.assign(4, work);
  input.bytes.assign(40, 0);
  input.memoryCaps.assign(4, noMemoryCap);
  std::optional<Partition> few = partitionLayers(input, 50);
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->isExact);
  std::optional<Partition> many = partitionLayers(input);
  EXPECT_LE(many->busiestNs, few->busiestNs);
}

TEST(Partition, NeedsALayerForEachStage) {
  PartitionInput input;
  input.rankOfStage = {0, 1, 2};
  input.workNs.assign(3, {1, 1});
  input.bytes = {0, 0};
  input.memoryCaps.assign(3, noMemoryCap);
  EXPECT_FALSE(partitionLayers(input));
}

} // namespace
