//===- ShardTest.cpp - Gathers and scatters on every pair -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

#include "runtime/base/clock.h"

#include <cmath>
#include <random>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// The ranks of a group, by their shards.
using Group = std::vector<int>;

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// Groups of ranks, each with collectives that gather and scatter memory of its
/// own. A rank's arena has the memory of every group twice, for two slots.
class ShardRanks : public Ranks {
public:
  ShardRanks(const Pair &pair, int numRanks, std::vector<Group> all,
             int64_t shard)
      : Ranks(pair, numRanks, arenaBytes(all, shard)), all(std::move(all)),
        shard(shard) {
    for (const Group &group : this->all) {
      params.collectives.emplace_back();
      for (int rank : group)
        params.collectives.back().push_back({rank, nullptr, countOf(group)});
    }
  }

  bool isIn(int rank, size_t group) const {
    return std::count(all[group].begin(), all[group].end(), rank) > 0;
  }
  int64_t countOf(const Group &group) const {
    return shard * static_cast<int64_t>(group.size());
  }
  int64_t offsetOf(size_t group, int slot) const {
    int64_t offset = 0;
    for (size_t g = 0; g < group; ++g)
      offset += 2 * aligned(4 * countOf(all[g]));
    return offset + slot * aligned(4 * countOf(all[group]));
  }
  float *whole(int rank, size_t group, int slot) const {
    return reinterpret_cast<float *>(at(rank, offsetOf(group, slot)));
  }

  /// Each rank's own values in a group's memory: numbers whose sum depends on
  /// the order.
  void writeAll(uint32_t seed, size_t group, int slot) {
    std::mt19937 random(seed);
    written.clear();
    for (int rank : all[group]) {
      std::vector<float> values(static_cast<size_t>(countOf(all[group])));
      for (float &value : values)
        value = std::ldexp(static_cast<float>(random() % 2001) - 1000,
                           static_cast<int>(random() % 30));
      write(rank, offsetOf(group, slot), values);
      written.push_back(values);
    }
  }
  void expectGathered(size_t group, int slot) const {
    std::vector<float> expected;
    for (size_t p = 0; p < written.size(); ++p)
      expected.insert(expected.end(), written[p].begin() + beginOf(p),
                      written[p].begin() + beginOf(p + 1));
    for (int rank : all[group])
      ASSERT_TRUE(read<float>(rank, offsetOf(group, slot), expected.size()) ==
                  expected)
          << "rank " << rank << " of " << written.size() << " with shards of "
          << shard << " elements";
  }
  void expectScattered(size_t group, int slot) const {
    std::vector<float> sum = written.front();
    for (size_t p = 1; p < written.size(); ++p)
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += written[p][i];
    for (size_t p = 0; p < written.size(); ++p) {
      const std::vector<float> expected(sum.begin() + beginOf(p),
                                        sum.begin() + beginOf(p + 1));
      ASSERT_TRUE(read<float>(all[group][p],
                              offsetOf(group, slot) + 4 * beginOf(p),
                              expected.size()) == expected)
          << "shard " << p << " of " << written.size() << " of " << shard
          << " elements";
    }
  }

  std::map<int32_t, int64_t> needsOf(CollectiveKind kind) const {
    std::map<int32_t, int64_t> needs;
    for (const CollectiveParams &parts : params.collectives)
      for (auto [rank, bytes] : stagingBytes(kind, parts, pair.backend->sums))
        needs[rank] = std::max(needs[rank], bytes);
    return needs;
  }

private:
  /// First element of the shard of that number.
  int64_t beginOf(size_t number) const {
    return shard * static_cast<int64_t>(number);
  }
  static int64_t arenaBytes(const std::vector<Group> &all, int64_t shard) {
    int64_t bytes = 0;
    for (const Group &group : all)
      bytes += 2 * aligned(4 * shard * static_cast<int64_t>(group.size()));
    return bytes;
  }

  const std::vector<Group> all;
  const int64_t shard;
  std::vector<std::vector<float>> written;
};

std::vector<Pair> cpuPairs() {
  std::vector<Pair> pairs;
  for (const Pair &pair : allPairs())
    if (targetOf(pair) == Target::Cpu)
      pairs.push_back(pair);
  return pairs;
}

class Shards : public Conformance {
protected:
  static void expectMoves(const Group &group, int numRanks, int64_t shard,
                          int iterations = 3) {
    ShardRanks ranks(GetParam(), numRanks, {group}, shard);
    ranks.connect();
    for (int i = 0; i < iterations; ++i)
      for (bool gathers : {true, false}) {
        const int slot = i % 2;
        ranks.writeAll(static_cast<uint32_t>(2 * i + gathers), 0, slot);
        ASSERT_EQ(ranks.iterate([&](int rank) {
          if (!ranks.isIn(rank, 0))
            return;
          Transport &t = *ranks.transport;
          if (gathers)
            t.startGather(0, rank, ranks.whole(rank, 0, slot));
          else
            t.startScatter(0, rank, ranks.whole(rank, 0, slot));
          t.waitCollective(0, rank);
          // Nobody reads it any more. Its own shard is looked at below.
          if (!gathers)
            for (int other : group)
              if (other != rank)
                scribble(ranks, rank, other, group, shard, slot);
        }),
                  "");
        if (gathers)
          ranks.expectGathered(0, slot);
        else
          ranks.expectScattered(0, slot);
      }
  }

private:
  static void scribble(ShardRanks &ranks, int rank, int other,
                       const Group &group, int64_t shard, int slot) {
    const int64_t place =
        std::find(group.begin(), group.end(), other) - group.begin();
    ranks.fill(rank, ranks.offsetOf(0, slot) + 4 * shard * place, 0xff,
               4 * shard);
  }
};

/// Shards of fewer elements than a thread takes at once, and more; ranks in any
/// order, and some that are not in the group.
TEST_P(Shards, ShardsAreGatheredAndAddedInOrder) {
  for (const Group &group : {Group{0}, Group{0, 1}, Group{1, 0}, Group{2, 0, 1},
                             Group{3, 1, 2, 0}, Group{2, 3}})
    for (int64_t shard : {0, 32, 96, 40'000})
      expectMoves(group, 4, shard);
  inAllOrders([] { expectMoves({2, 0, 1}, 3, 96); });
}

/// More elements than the pair moves to one rank at once.
TEST_P(Shards, LargeShardsTakeSeveralRounds) {
  expectMoves({1, 2, 0}, 3, GetParam().backend->sums.elementsAtOnce + 32, 2);
}

/// As in a program: a collective runs several times in an iteration, in the
/// same memory, between work of the device. What is gathered is changed and
/// scattered; the sum of a rank's shard is what it gathers next. Iterations may
/// be recorded.
TEST_P(Shards, RunSeveralTimesInAnIteration) {
  inAllOrders([] {
    const Group group = {2, 0, 1};
    constexpr int64_t shard = 1'024, units = 3;
    constexpr auto count = static_cast<size_t>(3 * shard);
    ShardRanks ranks(GetParam(), 3, {group, group}, shard);
    ranks.connect();
    for (int i = 0; i < 4; ++i) {
      std::vector<std::vector<float>> shards;
      for (size_t p = 0; p < group.size(); ++p) {
        std::vector<float> values(count);
        for (size_t e = 0; e < count; ++e)
          values[e] = static_cast<float>((e * 7 + p * 13) % 50 + i);
        shards.emplace_back(values.begin() + shard * p,
                            values.begin() + shard * (p + 1));
        ranks.write(group[p], ranks.offsetOf(0, 0), values);
      }
      ASSERT_EQ(ranks.iterate(
                    [&](int rank) {
                      Transport &t = *ranks.transport;
                      const int64_t own =
                          std::find(group.begin(), group.end(), rank) -
                          group.begin();
                      const int64_t from = ranks.offsetOf(1, 0),
                                    to = ranks.offsetOf(0, 0);
                      for (int u = 0; u < units; ++u) {
                        t.startGather(0, rank, ranks.whole(rank, 0, 0));
                        t.waitCollective(0, rank);
                        ranks.copy(rank, from, to, 4 * count);
                        ranks.fill(rank, to, 0xff, 4 * count);
                        t.startScatter(1, rank, ranks.whole(rank, 1, 0));
                        t.waitCollective(1, rank);
                        ranks.copy(rank, to + 4 * shard * own,
                                   from + 4 * shard * own, 4 * shard);
                      }
                      // A gather of all.
                      t.startGather(0, rank, ranks.whole(rank, 0, 0));
                      t.waitCollective(0, rank);
                    },
                    /*mayReplay=*/true),
                "");
      // Whole numbers: three equal parts, three times.
      std::vector<float> expected;
      for (const std::vector<float> &values : shards)
        for (float value : values)
          expected.push_back(27 * value);
      for (int rank : group)
        ASSERT_TRUE(ranks.read<float>(rank, ranks.offsetOf(0, 0), count) ==
                    expected)
            << "rank " << rank << ", iteration " << i;
    }
  });
}

/// Gathers and scatters of three groups, all under way at once; one order of
/// starts, and another of waits.
TEST_P(Shards, SeveralAreUnderWay) {
  const std::vector<Group> groups = {{0, 1}, {1, 0}, {0, 1, 2}};
  constexpr int64_t shard = 40'032;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<ShardRanks>> checks;
    ShardRanks ranks(GetParam(), 3, groups, shard);
    ranks.connect();
    auto isGather = [&](size_t g) { return (g + round) % 2 == 0; };
    // One object knows what one group has got.
    for (size_t g = 0; g < groups.size(); ++g)
      checks.push_back(
          std::make_unique<ShardRanks>(GetParam(), 3, groups, shard));
    for (size_t g = 0; g < groups.size(); ++g) {
      checks[g]->writeAll(static_cast<uint32_t>(g), g, 0);
      ranks.writeAll(static_cast<uint32_t>(g), g, 0);
    }
    ASSERT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      for (size_t g = 0; g < groups.size(); ++g)
        if (ranks.isIn(rank, g)) {
          const auto c = static_cast<int32_t>(g);
          if (isGather(g))
            t.startGather(c, rank, ranks.whole(rank, g, 0));
          else
            t.startScatter(c, rank, ranks.whole(rank, g, 0));
        }
      for (size_t g = groups.size(); g-- > 0;)
        if (ranks.isIn(rank, g))
          t.waitCollective(static_cast<int32_t>(g), rank);
    }),
              "");
    for (size_t g = 0; g < groups.size(); ++g) {
      for (int rank : groups[g])
        checks[g]->write(
            rank, ranks.offsetOf(g, 0),
            ranks.read<float>(rank, ranks.offsetOf(g, 0),
                              static_cast<size_t>(ranks.countOf(groups[g]))));
      if (isGather(g))
        checks[g]->expectGathered(g, 0);
      else
        checks[g]->expectScattered(g, 0);
    }
  }
}

/// stagingBytes() is enough for a scatter, and 0 for a gather.
TEST_P(Shards, StagingIsNotExceeded) {
  const std::string name = GetParam().name;
  const bool addsInPlace = name == "cpu_inproc" || name == "cuda_loopback";
  auto failureWith = [&](bool gathers, int64_t missing) {
    ShardRanks ranks(GetParam(), 3, {{0, 1, 2}}, 320);
    std::map<int32_t, int64_t> bytes =
        ranks.needsOf(gathers ? CollectiveKind::GatherWeights
                              : CollectiveKind::ScatterGradients);
    EXPECT_EQ(bytes.size(), gathers ? 0u : 3u);
    if (bytes.count(1))
      bytes[1] -= missing;
    ranks.stage(bytes);
    ranks.connect();
    ranks.writeAll(1, 0, 0);
    const std::string error = ranks.iterate([&](int rank) {
      if (gathers)
        ranks.transport->startGather(0, rank, ranks.whole(rank, 0, 0));
      else
        ranks.transport->startScatter(0, rank, ranks.whole(rank, 0, 0));
      ranks.transport->waitCollective(0, rank);
    });
    if (error.empty() && gathers)
      ranks.expectGathered(0, 0);
    if (error.empty() && !gathers)
      ranks.expectScattered(0, 0);
    return error;
  };
  EXPECT_EQ(failureWith(true, 0), "");
  EXPECT_EQ(failureWith(false, 0), "");
  // 320 elements of each of two others.
  EXPECT_EQ(failureWith(false, 1),
            addsInPlace ? ""
                        : "reduce_grad's collective 0 stages 2560 bytes on "
                          "rank 1, which has 2559 bytes for that");
}

constexpr int64_t secondNs = 1'000'000'000;

class LinkedShards : public Conformance {};

/// With imposed links, half of the time of a sum of the same elements, and the
/// second begins when the first has ended. A loaded machine makes both longer;
/// at least one of many must end before the time of another half transfer.
TEST_P(LinkedShards, TakeTheTimeOfTheirTraffic) {
  constexpr int64_t shard = 10'016, latencyNs = 1'000'000, bytesPerUs = 10;
  // Two shards of 40,064 bytes each.
  constexpr int64_t eachNs = 8'012'800 + latencyNs, slackNs = eachNs / 2;
  ShardRanks ranks(GetParam(), 3, {{2, 0, 1}, {0, 1, 2}}, shard);
  ranks.params.imposeLinks = linkImposer({latencyNs, bytesPerUs});
  ranks.connect();
  int64_t bestNs = INT64_MAX;
  const int64_t deadlineNs = nowNs() + 60 * secondNs;
  for (int i = 0;
       i == 0 || (bestNs > 2 * eachNs + slackNs && nowNs() < deadlineNs); ++i) {
    int64_t starts[3], middles[3], ends[3];
    ASSERT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      starts[rank] = nowNs();
      t.startGather(0, rank, ranks.whole(rank, 0, 0));
      t.startScatter(1, rank, ranks.whole(rank, 1, 0));
      t.waitCollective(0, rank);
      middles[rank] = nowNs();
      t.waitCollective(1, rank);
      ends[rank] = nowNs();
    }),
              "");
    const int64_t start = *std::max_element(starts, starts + 3);
    for (int r = 0; r < 3; ++r) {
      EXPECT_GE(middles[r] - start, eachNs);
      EXPECT_GE(ends[r] - start, 2 * eachNs);
    }
    bestNs = std::min(bestNs, *std::max_element(ends, ends + 3) - start);
  }
  EXPECT_LE(bestNs, 2 * eachNs + slackNs);
}

INSTANTIATE_TEST_SUITE_P(, Shards, testing::ValuesIn(allPairs()), nameOfPair);
INSTANTIATE_TEST_SUITE_P(, LinkedShards, testing::ValuesIn(cpuPairs()),
                         nameOfPair);
// Builds in which all pairs are of one kind.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LinkedShards);

} // namespace
