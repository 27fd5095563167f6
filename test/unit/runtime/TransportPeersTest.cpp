//===- TransportPeersTest.cpp - Which processes are connected -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/endpoint.h"

#include "gtest/gtest.h"

#include <random>
#include <string>

using namespace rondo::runtime;

namespace {

/// The peers of a process: of each, `m` for messages and `c` for collectives.
std::string peersAs(const TransportParams &params, int32_t process,
                    int32_t processes) {
  World world;
  world.process = process;
  world.processes = processes;
  const Peers peers = peersOf(params, world);
  std::string text;
  for (int32_t p = 0; p < processes; ++p) {
    const size_t first = static_cast<size_t>(p) * Endpoint::numPurposes;
    const bool messages = peers[first + Endpoint::Messages],
               collectives = peers[first + Endpoint::Collectives];
    if (messages || collectives)
      text += (text.empty() ? "" : " ") + std::to_string(p) +
              (messages ? "m" : "") + (collectives ? "c" : "");
  }
  return text;
}

/// Parameters of `ranks` ranks; measuring connects more.
TransportParams chain(int32_t ranks, bool measures) {
  TransportParams params;
  params.ranks = ranks;
  params.measures = measures;
  for (int32_t r = 0; r + 1 < ranks; ++r) {
    params.channels.push_back({r, r + 1, 4});
    params.channels.push_back({r + 1, r, 4});
  }
  return params;
}

TEST(TransportPeers, AreThoseThatAChannelJoins) {
  const TransportParams params = chain(5, false);
  EXPECT_EQ(peersAs(params, 0, 5), "1m");
  EXPECT_EQ(peersAs(params, 2, 5), "1m 3m");
  EXPECT_EQ(peersAs(params, 4, 5), "3m");
}

TEST(TransportPeers, TellProcessZeroWhatChannelsMeasure) {
  const TransportParams params = chain(5, true);
  EXPECT_EQ(peersAs(params, 0, 5), "1mc 2c 3c 4c");
  EXPECT_EQ(peersAs(params, 3, 5), "0c 2mc 4mc");
}

TEST(TransportPeers, AddSumsWithAllAndTotalsWithTheFirst) {
  TransportParams params;
  params.ranks = 6;
  params.collectives = {
      {{1, nullptr, 8}, {3, nullptr, 8}, {4, nullptr, 8, false}},
      {{2, nullptr, 8}, {3, nullptr, 8}, {5, nullptr, 8}}};
  params.areTotals = {false, true};
  EXPECT_EQ(peersAs(params, 0, 6), "");
  EXPECT_EQ(peersAs(params, 1, 6), "3c 4c");
  EXPECT_EQ(peersAs(params, 2, 6), "3c 5c");
  EXPECT_EQ(peersAs(params, 3, 6), "1c 2c 4c");
  EXPECT_EQ(peersAs(params, 5, 6), "2c");
  // Sums that are not totals are ignored.
  params.areTotals.clear();
  EXPECT_EQ(peersAs(params, 5, 6), "2c 3c");
}

TEST(TransportPeers, AreMutual) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    TransportParams params;
    const int32_t ranks = params.ranks = 2 + static_cast<int32_t>(random() % 7);
    params.measures = random() % 2;
    auto any = [&] { return static_cast<int32_t>(random() % ranks); };
    for (int c = 0; c < 4; ++c)
      if (const int32_t from = any(), to = any(); from != to)
        params.channels.push_back({from, to, 1});
    for (int c = 0; c < 2; ++c) {
      CollectiveParams parts;
      for (int p = 0; p < 3; ++p)
        parts.push_back({any(), nullptr, 8});
      params.collectives.push_back(parts);
      params.areTotals.push_back(random() % 2);
    }
    std::vector<Peers> all;
    for (int32_t p = 0; p < ranks; ++p) {
      World world;
      world.process = p;
      world.processes = ranks;
      all.push_back(peersOf(params, world));
    }
    for (int32_t p = 0; p < ranks; ++p)
      for (int32_t q = 0; q < ranks; ++q)
        for (int u = 0; u < Endpoint::numPurposes; ++u) {
          EXPECT_EQ(all[p][q * Endpoint::numPurposes + u],
                    all[q][p * Endpoint::numPurposes + u]);
          EXPECT_FALSE(p == q && all[p][q * Endpoint::numPurposes + u]);
        }
  }
}

} // namespace
