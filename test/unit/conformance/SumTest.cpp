//===- SumTest.cpp - Sums of parts on every pair --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

#include "runtime/base/clock.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// A part's rank, and whether it contributes.
struct Place {
  int rank;
  bool contributes = true;
};
using Places = std::vector<Place>;
constexpr bool receives = false;

int numRanksOf(const Places &places) {
  int last = 0;
  for (const Place &place : places)
    last = std::max(last, place.rank);
  return last + 1;
}

/// Ranks with sums of parts, each in its own place of the rank's arena.
class SumRanks : public Ranks {
public:
  SumRanks(const Pair &pair, int numRanks, std::vector<Places> all,
           int64_t count)
      : Ranks(pair, numRanks, arenaBytes(all, count)), all(std::move(all)),
        count(count) {
    int64_t offset = 0;
    for (const Places &places : this->all) {
      params.collectives.emplace_back();
      offsets.emplace_back();
      for (const Place &place : places) {
        params.collectives.back().push_back(
            {place.rank, at(place.rank, offset), count, place.contributes});
        offsets.back().push_back(offset);
        offset += partBytes(count);
      }
    }
  }

  /// Numbers whose sum depends on the order. What parts that only receive hold
  /// would spoil every sum.
  void writeParts(uint32_t seed) {
    std::mt19937 random(seed);
    expected.clear();
    for (size_t c = 0; c < all.size(); ++c) {
      std::vector<std::vector<float>> contributions;
      for (size_t p = 0; p < all[c].size(); ++p) {
        std::vector<float> values(static_cast<size_t>(count),
                                  std::numeric_limits<float>::quiet_NaN());
        if (all[c][p].contributes) {
          for (float &value : values)
            value = std::ldexp(static_cast<float>(random() % 2001) - 1000,
                               static_cast<int>(random() % 30));
          contributions.push_back(values);
        }
        write(all[c][p].rank, offsets[c][p], values);
      }
      expected.push_back(sumOf(contributions));
      // The sum of two numbers does not, and that of a few may not.
      std::reverse(contributions.begin(), contributions.end());
      if (contributions.size() > 2 && count > 100) {
        EXPECT_NE(sumOf(contributions), expected.back());
      }
    }
  }

  void expectSums() const {
    for (size_t c = 0; c < all.size(); ++c)
      for (size_t p = 0; p < all[c].size(); ++p)
        EXPECT_TRUE(read<float>(all[c][p].rank, offsets[c][p],
                                static_cast<size_t>(count)) == expected[c])
            << "part " << p << " of sum " << c << " with " << count
            << " elements";
  }

  bool hasPart(int rank, size_t collective) const {
    return std::any_of(all[collective].begin(), all[collective].end(),
                       [&](const Place &place) { return place.rank == rank; });
  }

private:
  static int64_t partBytes(int64_t count) {
    return (4 * count + bufferAlignment - 1) / bufferAlignment *
           bufferAlignment;
  }
  static int64_t arenaBytes(const std::vector<Places> &all, int64_t count) {
    int64_t parts = 0;
    for (const Places &places : all)
      parts += static_cast<int64_t>(places.size());
    return parts * partBytes(count);
  }
  static std::vector<float>
  sumOf(const std::vector<std::vector<float>> &contributions) {
    std::vector<float> sum = contributions.front();
    for (size_t p = 1; p < contributions.size(); ++p)
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += contributions[p][i];
    return sum;
  }

  const std::vector<Places> all;
  const int64_t count;
  /// Indices: sum and part.
  std::vector<std::vector<int64_t>> offsets;
  /// Index: sum.
  std::vector<std::vector<float>> expected;
};

class Sums : public Conformance {
protected:
  /// Four iterations, since the second may be recorded.
  static void expectSum(const Places &places, int64_t count,
                        int iterations = 4) {
    SumRanks ranks(GetParam(), numRanksOf(places), {places}, count);
    ranks.connect();
    for (int i = 0; i < iterations; ++i) {
      ranks.writeParts(static_cast<uint32_t>(i + count));
      ASSERT_EQ(ranks.iterate(
                    [&](int rank) {
                      if (ranks.hasPart(rank, 0))
                        ranks.sumParts(0, rank);
                    },
                    /*mayReplay=*/true),
                "");
      ranks.expectSums();
    }
  }
};

/// Counts that ranks cannot divide, and some with less than one element each.
TEST_P(Sums, PartsOnOneToFourRanksAreAddedInOrder) {
  const Places all[] = {
      {{0}},           {{0}, {1}},           {{1}, {0}},
      {{2}, {0}, {1}}, {{3}, {1}, {0}, {2}}, {{0}, {1}, {2}, {3}, {0}},
  };
  for (const Places &places : all)
    for (int64_t count : {1, 2, 3, 5, 1000, 1001})
      expectSum(places, count);
}

TEST_P(Sums, PartsOfOneRankKeepTheirPlaceInTheOrder) {
  inAllOrders([&] {
    const Places all[] = {
        {{0}, {0}, {0}},
        {{0}, {0}, {1}},
        {{1}, {0}, {1}},
        {{1}, {1}, {0}, {0}, {1}},
        // Rank 0 has none.
        {{2}, {1}, {2}},
    };
    for (const Places &places : all)
      for (int64_t count : {1, 103})
        expectSum(places, count);
  });
}

TEST_P(Sums, SomePartsOnlyReceive) {
  inAllOrders([&] {
    const Places all[] = {
        {{0}, {1, receives}},
        {{0, receives}, {1}},
        {{0, receives}, {0}},
        {{1, receives}, {0, receives}, {2}},
        {{0}, {1}, {2, receives}},
        {{1, receives}, {2}, {0, receives}, {3}, {2}},
        // Some of one rank's contribute.
        {{0, receives}, {0}, {1}},
        {{0}, {1}, {0, receives}, {1, receives}, {1}},
    };
    for (const Places &places : all)
      for (int64_t count : {1, 103})
        expectSum(places, count);
  });
}

/// More elements than any transport moves at once.
TEST_P(Sums, LargePartsTakeSeveralRounds) {
  expectSum({{1}, {0}, {1}, {0, receives}}, (1 << 21) + 37, 3);
  expectSum({{2}, {0}, {1}}, 3 * (1 << 18) + 7, 1);
}

/// Every rank has parts in two of three sums.
TEST_P(Sums, SumsOfOtherRanksAreInFlight) {
  inAllOrders([&] {
    SumRanks ranks(
        GetParam(), 4,
        {{{0}, {1}, {2}}, {{3}, {2}, {1, receives}, {1}}, {{0}, {3}, {3}}},
        101);
    ranks.connect();
    for (uint32_t i = 0; i < 4; ++i) {
      ranks.writeParts(i);
      ASSERT_EQ(ranks.iterate(
                    [&](int rank) {
                      for (int c : {0, 1, 2})
                        if (ranks.hasPart(rank, c))
                          ranks.transport->startSumParts(c, rank);
                      for (int c : {2, 1, 0})
                        if (ranks.hasPart(rank, c))
                          ranks.transport->waitCollective(c, rank);
                    },
                    /*mayReplay=*/true),
                "");
      ranks.expectSums();
    }
  });
}

/// stagingBytes() is enough, and a transport that would write more than the
/// memory that exists refuses.
TEST_P(Sums, StagingIsNotExceeded) {
  const std::string name = GetParam().name;
  const bool addsInPlace = name == "cpu_inproc" || name == "cuda_loopback";
  auto failureWith = [&](CollectiveKind kind, int64_t missing) {
    Ranks ranks(GetParam(), 2, 16384);
    ranks.params.collectives = {
        {{0, ranks.at(0, 0), 1000}, {1, ranks.at(1, 0), 1000}}};
    std::map<int32_t, int64_t> bytes = stagingBytes(
        kind, ranks.params.collectives[0], GetParam().backend->sums);
    if (bytes.count(1))
      bytes[1] -= missing;
    ranks.stage(bytes);
    ranks.connect();
    return ranks.iterate([&](int rank) {
      if (kind == CollectiveKind::GradientNorm)
        ranks.addAll(0, rank, 8192);
      else
        ranks.sumParts(0, rank);
    });
  };
  for (CollectiveKind kind :
       {CollectiveKind::ReplicaGradients, CollectiveKind::GradientNorm})
    EXPECT_EQ(failureWith(kind, 0), "");
  // A piece of 520 elements, rounded up to whole groups of 32.
  EXPECT_EQ(failureWith(CollectiveKind::ReplicaGradients, 1),
            addsInPlace ? ""
                        : "all_reduce 0 stages 2176 bytes on rank 1, which has "
                          "2175 bytes for that");
  // Once its own and once those of both.
  EXPECT_EQ(failureWith(CollectiveKind::GradientNorm, 1),
            addsInPlace || !GetParam().backend->sums.stagesGathers
                ? ""
                : "all_reduce 0 stages 24000 bytes on rank 1, which has 23999 "
                  "bytes for that");
}

/// The first one, too, and one that has no address.
TEST_P(Sums, AddAllTakesEmptyParts) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 3, 256);
    ranks.params.collectives = {{{1, ranks.at(1, 0), 0},
                                 {0, ranks.at(0, 0), 2},
                                 {2, nullptr, 0},
                                 {0, ranks.at(0, 64), 1}}};
    ranks.connect();
    for (int i = 0; i < 4; ++i) {
      ranks.write<double>(0, 0, {1, 20});
      ranks.write<double>(0, 64, {300.0 + i});
      ASSERT_EQ(ranks.iterate([&](int r) { ranks.addAll(0, r, 128); },
                              /*mayReplay=*/true),
                "");
      for (int r = 0; r < 3; ++r)
        ASSERT_EQ(ranks.read<double>(r, 128, 1)[0], 321.0 + i);
    }
  });
}

//===----------------------------------------------------------------------===//
// Imposed links; GPUs have none.
//===----------------------------------------------------------------------===//

class LinkedSums : public Conformance {};

std::vector<Pair> cpuPairs() {
  std::vector<Pair> pairs;
  for (const Pair &pair : allPairs())
    if (targetOf(pair) == Target::Cpu)
      pairs.push_back(pair);
  return pairs;
}

constexpr int64_t secondNs = 1'000'000'000;

/// A sum takes what its formula says from the last start on, on every rank. A
/// loaded machine makes it longer: one of many must be as short.
TEST_P(LinkedSums, TakeTheTimeOfTheirTraffic) {
  const Places places = {{2}, {0}, {1}};
  constexpr int64_t count = 30'000, latencyNs = 1'000'000, bytesPerUs = 10;
  // Two thirds of 120,000 bytes, twice.
  constexpr int64_t expectedNs = 16'000'000 + 2 * latencyNs;
  constexpr int64_t slackNs = 5'000'000;
  SumRanks ranks(GetParam(), 3, {places}, count);
  ranks.params.imposeLinks = linkImposer({latencyNs, bytesPerUs});
  ranks.connect();
  int64_t bestNs = INT64_MAX, bestWorkNs = INT64_MAX;
  const int64_t deadlineNs = nowNs() + 60 * secondNs;
  for (uint32_t i = 0;
       i == 0 || (bestNs > expectedNs + slackNs && nowNs() < deadlineNs); ++i) {
    ranks.writeParts(i);
    int64_t starts[3], ends[3], work[3];
    ASSERT_EQ(ranks.iterate([&](int rank) {
      starts[rank] = nowNs();
      ranks.transport->startSumParts(0, rank);
      const int64_t before = threadNs();
      ranks.transport->waitCollective(0, rank);
      ends[rank] = nowNs();
      work[rank] = threadNs() - before;
    }),
              "");
    ranks.expectSums();
    const int64_t start = *std::max_element(starts, starts + 3);
    for (int64_t end : ends)
      EXPECT_GE(end - start, expectedNs);
    bestNs = std::min(bestNs, *std::max_element(ends, ends + 3) - start);
    bestWorkNs = std::min(bestWorkNs, *std::max_element(work, work + 3));
  }
  EXPECT_LE(bestNs, expectedNs + slackNs);
  // Ranks that wait leave their cores to others.
  EXPECT_LT(bestWorkNs, expectedNs / 2);
}

/// Sums of one rank need no link, and those of all elements are small.
TEST_P(LinkedSums, SomeAreNotSlowedDown) {
  Ranks ranks(GetParam(), 2, 256);
  ranks.params.imposeLinks = linkImposer({1000 * secondNs, 1});
  ranks.params.collectives = {
      {{0, ranks.at(0, 0), 2}, {0, ranks.at(0, 64), 2}},
      {{0, ranks.at(0, 128), 1}, {1, ranks.at(1, 128), 1}}};
  ranks.connect();
  ranks.write<float>(0, 0, {1, 2});
  ranks.write<float>(0, 64, {10, 20});
  for (int r : {0, 1})
    ranks.write<double>(r, 128, {r + 1.0});
  const int64_t beginNs = nowNs();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    if (rank == 0)
      ranks.sumParts(0, rank);
    ranks.addAll(1, rank, 192);
  }),
            "");
  EXPECT_LT(nowNs() - beginNs, 100 * secondNs);
  for (int64_t offset : {0, 64})
    EXPECT_EQ(ranks.read<float>(0, offset, 2), (std::vector<float>{11, 22}));
  for (int r : {0, 1})
    EXPECT_EQ(ranks.read<double>(r, 192, 1)[0], 3);
}

/// Both ranks would wait for half an hour.
TEST_P(LinkedSums, EndWithAnAbort) {
  SumRanks ranks(GetParam(), 2, {{{0}, {1}}}, 8);
  ranks.params.imposeLinks = linkImposer({1000 * secondNs, 0});
  ranks.connect();
  ranks.writeParts(1);
  std::atomic<int> started{0}, aborted{0};
  std::thread watcher([&] {
    while (started < 2)
      std::this_thread::yield();
    ranks.transport->abort();
  });
  const int64_t beginNs = nowNs();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    ranks.transport->startSumParts(0, rank);
    ++started;
    EXPECT_THROW(ranks.transport->waitCollective(0, rank), Aborted);
    ++aborted;
  }),
            "");
  watcher.join();
  EXPECT_EQ(aborted, 2);
  EXPECT_LT(nowNs() - beginNs, 100 * secondNs);
}

INSTANTIATE_TEST_SUITE_P(, Sums, testing::ValuesIn(allPairs()), nameOfPair);
INSTANTIATE_TEST_SUITE_P(, LinkedSums, testing::ValuesIn(cpuPairs()),
                         nameOfPair);
// Builds in which all pairs have GPUs.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LinkedSums);

} // namespace
