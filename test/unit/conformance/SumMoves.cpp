//===- SumMoves.cpp - What ranks move in a sum of parts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/exchange.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace rondo;
using namespace rondo::runtime;

namespace {

/// One contributing part on each of `ranks` ranks, and after them parts that
/// only receive.
CollectiveParams partsOf(int ranks, int64_t count, int receivers = 0) {
  // Never read.
  static float memory[10'000];
  CollectiveParams parts;
  for (int r = 0; r < ranks + receivers; ++r)
    parts.push_back({r, memory, count, r < ranks});
  return parts;
}

int64_t countOf(const std::vector<SumExchange::Move> &moves) {
  int64_t count = 0;
  for (const SumExchange::Move &move : moves)
    count += move.count;
  return count;
}

/// Elements that a rank sends and receives in all rounds.
struct Traffic {
  int64_t sent = 0, received = 0, maxInARound = 0;
};
Traffic trafficOf(const CollectiveParams &parts, int32_t rank,
                  int64_t maxAtOnce) {
  const SumExchange exchange(parts, rank, maxAtOnce);
  std::vector<float> staging(static_cast<size_t>(exchange.stagingCount()));
  Traffic traffic;
  for (int64_t round = 0; round < exchange.numRounds(); ++round) {
    const auto moves = exchange.receives(round, staging.data());
    traffic.sent += countOf(exchange.sends(round));
    traffic.received += countOf(moves);
    for (const SumExchange::Move &move : moves)
      traffic.maxInARound = std::max(traffic.maxInARound, move.count);
  }
  return traffic;
}

/// Two all-gathers of a piece each, not a part for every other rank.
TEST(SumMoves, EachRankMovesTwoPiecesPerOtherRank) {
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    const int64_t piece = 128, count = piece * ranks;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const Traffic traffic = trafficOf(partsOf(ranks, count), rank, 7);
      EXPECT_EQ(traffic.sent, 2 * (ranks - 1) * piece);
      EXPECT_EQ(traffic.received, 2 * (ranks - 1) * piece);
    }
  }
}

TEST(SumMoves, ReceiversMoveNothingButTheSum) {
  const CollectiveParams parts = partsOf(2, 1024, 2);
  for (int32_t receiver : {2, 3}) {
    EXPECT_EQ(trafficOf(parts, receiver, 64).sent, 0);
    EXPECT_EQ(trafficOf(parts, receiver, 64).received, 1024);
  }
  // Half of it to the other one, and the other half's sum to all.
  EXPECT_EQ(trafficOf(parts, 0, 64).sent, 512 + 3 * 512);
  EXPECT_EQ(trafficOf(parts, 0, 64).received, 512 + 512);
}

/// However large the parts are; and 2^40 elements are counted right.
TEST(SumMoves, MemoryIsBounded) {
  for (int ranks : {2, 3, 5}) {
    const SumExchange exchange(partsOf(ranks, int64_t(1) << 40), ranks - 1, 64);
    EXPECT_EQ(exchange.stagingCount(), 64 * (ranks - 1));
    EXPECT_EQ(trafficOf(partsOf(ranks, 10'000), 0, 64).maxInARound, 64);
  }
  // Small parts need less.
  EXPECT_EQ(SumExchange(partsOf(4, 128), 0, 64).stagingCount(), 3 * 32);
  // A rank that adds nothing needs none.
  EXPECT_EQ(SumExchange(partsOf(2, 1000, 1), 2, 64).stagingCount(), 0);
}

/// The planned memory is the memory that every rank uses, for parts of any
/// number and size.
TEST(SumMoves, PlannedMemoryIsWhatTheRoundsUse) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const int ranks = 1 + static_cast<int>(random() % 6);
    const int64_t bounds[] = {32, 64, 1000, 1 << 18, 1 << 20};
    const SumLimits limits = {bounds[random() % 5], false};
    const int64_t sizes[] = {1, 31, 33, 1000, 100'000, int64_t(1) << 33};
    const int64_t size = sizes[random() % 6],
                  count = size + static_cast<int64_t>(random() % 40);
    CollectiveParams parts = partsOf(ranks, count, random() % 3);
    // Some ranks have several, and some of those only receive.
    for (uint32_t more = random() % 4; more > 0; --more)
      parts.push_back({static_cast<int32_t>(random() % ranks), nullptr, count,
                       random() % 2 == 0});
    std::shuffle(parts.begin(), parts.end(), random);
    const std::map<int32_t, int64_t> planned =
        stagingBytes(CollectiveKind::ReplicaGradients, parts, limits);
    for (int32_t rank : ranksOf(parts)) {
      const SumExchange exchange(parts, rank, limits.elementsAtOnce);
      const auto own = planned.find(rank);
      ASSERT_EQ(exchange.stagingBytes(), own == planned.end() ? 0 : own->second)
          << ranks << " ranks, " << count << " elements, at most "
          << limits.elementsAtOnce << " at once, rank " << rank;
      // Never more than a piece, rounded up, of each part of another rank.
      ASSERT_LE(exchange.stagingCount(),
                static_cast<int64_t>(parts.size()) *
                    std::min(limits.elementsAtOnce, count + pieceAlignment));
    }
  }
}

/// A rank writes the last of these bytes.
TEST(SumMoves, PlannedMemoryIsUsedToTheEnd) {
  for (int ranks : {2, 3, 5})
    for (int64_t count : {320, 1000, 4096}) {
      CollectiveParams parts = partsOf(ranks, count);
      const SumLimits limits = {1 << 18, false};
      const int64_t bytes =
          stagingBytes(CollectiveKind::ReplicaGradients, parts, limits)
              .at(ranks - 1);
      const SumExchange exchange(parts, ranks - 1, limits.elementsAtOnce);
      std::vector<float> staging(static_cast<size_t>(bytes) / sizeof(float));
      const auto moves = exchange.receives(0, staging.data());
      const float *end = moves.back().data + moves.back().count;
      EXPECT_LE(end, staging.data() + staging.size());
      EXPECT_GT(end + pieceAlignment, staging.data() + staging.size());
    }
}

/// Transports that stage collectives of that kind.
TEST(SumMoves, NormTakesTheElementsOfAllRanks) {
  CollectiveParams parts = {{0, nullptr, 48},
                            {1, nullptr, 16},
                            {1, nullptr, 16},
                            {2, nullptr, 0, false}};
  using Bytes = std::map<int32_t, int64_t>;
  const int64_t each = 4 * 48 * 8;
  EXPECT_EQ(stagingBytes(CollectiveKind::GradientNorm, parts, sumsOfGpus),
            (Bytes{{0, each}, {1, each}, {2, each}}));
  EXPECT_EQ(stagingBytes(CollectiveKind::GradientNorm, parts, sumsOfProcesses),
            Bytes());
  parts.resize(1);
  EXPECT_EQ(stagingBytes(CollectiveKind::GradientNorm, parts, sumsOfGpus),
            Bytes());
}

/// A gather and a scatter are a half each, and only the scatter needs memory.
TEST(SumMoves, ShardsMoveOnePiecePerOtherRank) {
  using Kind = ShardExchange::Kind;
  for (int ranks : {1, 2, 3, 5})
    for (int64_t shard : {0, 32, 96, 4096})
      for (int64_t atOnce : {32, 64, 1 << 18})
        for (auto [kind, collective] :
             {std::pair(Kind::Gather, CollectiveKind::GatherWeights),
              std::pair(Kind::Scatter, CollectiveKind::ScatterGradients)}) {
          const CollectiveParams parts = partsOf(ranks, ranks * shard);
          const auto planned = stagingBytes(collective, parts, {atOnce, false});
          for (int32_t rank = 0; rank < ranks; ++rank) {
            std::vector<float> whole(static_cast<size_t>(ranks * shard));
            const ShardExchange exchange(parts, rank, kind, whole.data(),
                                         atOnce);
            const auto own = planned.find(rank);
            EXPECT_EQ(exchange.stagingBytes(),
                      own == planned.end() ? 0 : own->second);
            std::vector<float> staging(
                static_cast<size_t>(exchange.stagingBytes()) / sizeof(float));
            int64_t sent = 0, received = 0;
            for (int64_t round = 0; round < exchange.numRounds(); ++round) {
              sent += countOf(exchange.sends(round));
              for (const auto &move :
                   exchange.receives(round, staging.data())) {
                received += move.count;
                if (kind == Kind::Scatter) {
                  EXPECT_LE(move.data + move.count,
                            staging.data() + staging.size());
                }
              }
            }
            EXPECT_EQ(sent, (ranks - 1) * shard);
            EXPECT_EQ(received, (ranks - 1) * shard);
          }
        }
}

/// The transports match the moves of two ranks by their order alone.
TEST(SumMoves, BothRanksOfAPairAgree) {
  CollectiveParams parts = partsOf(3, 1001, 1);
  parts.push_back(parts[1]);
  parts.push_back(parts[0]);
  auto countsOf = [](const std::vector<SumExchange::Move> &moves,
                     int32_t peer) {
    std::vector<int64_t> counts;
    for (const SumExchange::Move &move : moves)
      if (move.peer == peer)
        counts.push_back(move.count);
    return counts;
  };
  for (int32_t from = 0; from < 4; ++from)
    for (int32_t to = 0; to < 4; ++to) {
      const SumExchange sender(parts, from, 100), receiver(parts, to, 100);
      std::vector<float> staging(static_cast<size_t>(receiver.stagingCount()));
      ASSERT_EQ(sender.numRounds(), receiver.numRounds());
      for (int64_t round = 0; round < sender.numRounds(); ++round)
        EXPECT_EQ(countsOf(sender.sends(round), to),
                  countsOf(receiver.receives(round, staging.data()), from));
    }
}

TEST(SumMoves, ImposedLinkCountsThem) {
  const ImposedLink link = {500, 3};
  EXPECT_EQ(link.halvesNs(2, 3000, 1), 0);
  EXPECT_EQ(link.halvesNs(2, 3000, 2), 1'000'000 + 1000);
  EXPECT_EQ(link.halvesNs(2, 3000, 4), 1'500'000 + 1000);
  // 4/3 of 4 bytes at 3 bytes/us: 1777.8 ns.
  EXPECT_EQ(link.halvesNs(2, 4, 3), 1778 + 1000);
  EXPECT_EQ(link.halvesNs(2, 0, 4), 0);
  EXPECT_EQ((ImposedLink{500, 0}).halvesNs(2, 3000, 4), 1000);
  EXPECT_EQ(ImposedLink().halvesNs(2, 3000, 4), 0);
  // A half: 3/4 of 3000 bytes once.
  EXPECT_EQ(link.halvesNs(1, 3000, 4), 750'000 + 500);
  // 64 GiB between 1000 ranks.
  EXPECT_EQ((ImposedLink{0, 1000}).halvesNs(2, int64_t(1) << 36, 1000),
            137301514519);
}

} // namespace
