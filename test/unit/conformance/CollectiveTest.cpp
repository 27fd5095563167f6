//===- CollectiveTest.cpp - Sums have the same bits everywhere ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class Collectives : public Conformance {};

TEST_P(Collectives, SumOfPartsIsInOrderAndGoesToAll) {
  // In fp32, (1e8 + 1) - 1e8 is 0 while (1e8 - 1e8) + 1 is 1.
  constexpr int count = 1001, iterations = 4;
  const float values[] = {1e8f, 1, -1e8f};
  inAllOrders([&] {
    Ranks ranks(GetParam(), 3, 4096);
    ranks.params.collectives.resize(1);
    for (int r = 0; r < 3; ++r)
      ranks.params.collectives[0].push_back({r, ranks.at(r, 0), count});
    ranks.connect();
    for (int i = 0; i < iterations; ++i) {
      for (int r = 0; r < 3; ++r)
        ranks.write(r, 0, std::vector<float>(count, values[r]));
      EXPECT_EQ(ranks.iterate([&](int r) { ranks.transport->sumParts(0, r); },
                              /*mayReplay=*/true),
                "");
      for (int r = 0; r < 3; ++r)
        ASSERT_EQ(ranks.read<float>(r, 0, count),
                  std::vector<float>(count, 0.0f));
    }
  });
}

TEST_P(Collectives, PartsOfOneRankAreSummedToo) {
  Ranks ranks(GetParam(), 1, 128);
  ranks.params.collectives = {
      {{0, ranks.at(0, 0), 2}, {0, ranks.at(0, 64), 2}}};
  ranks.connect();
  ranks.write<float>(0, 0, {1, 2});
  ranks.write<float>(0, 64, {10, 20});
  EXPECT_EQ(ranks.iterate([&](int) { ranks.transport->sumParts(0, 0); }), "");
  for (int64_t offset : {0, 64})
    EXPECT_EQ(ranks.read<float>(0, offset, 2), (std::vector<float>{11, 22}));
}

TEST_P(Collectives, RanksWithUnequalNumbersOfPartsAgree) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 256);
    ranks.params.collectives = {{{0, ranks.at(0, 0), 2},
                                 {1, ranks.at(1, 0), 2},
                                 {0, ranks.at(0, 64), 2}}};
    ranks.connect();
    ranks.write<float>(0, 0, {1e8f, 1});
    ranks.write<float>(1, 0, {1, 2});
    ranks.write<float>(0, 64, {-1e8f, 3});
    EXPECT_EQ(ranks.iterate([&](int r) { ranks.transport->sumParts(0, r); }),
              "");
    const std::vector<float> sum = {0, 6};
    EXPECT_EQ(ranks.read<float>(0, 0, 2), sum);
    EXPECT_EQ(ranks.read<float>(0, 64, 2), sum);
    EXPECT_EQ(ranks.read<float>(1, 0, 2), sum);
  });
}

TEST_P(Collectives, AddAllFollowsThePartsNotTheRanks) {
  double expected = 1e16;
  for (double next : {1.0, -1e16, 1.0, 1.0, 1.0})
    expected += next;
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 256);
    ranks.params.collectives = {{{0, ranks.at(0, 0), 2},
                                 {1, ranks.at(1, 0), 2},
                                 {0, ranks.at(0, 64), 2}}};
    ranks.connect();
    for (int iteration = 0; iteration < 5; ++iteration) {
      ranks.write<double>(0, 0, {1e16, 1});
      ranks.write<double>(1, 0, {-1e16, 1});
      ranks.write<double>(0, 64, {1, 1});
      EXPECT_EQ(ranks.iterate(
                    [&](int r) {
                      ranks.transport->addAll(
                          0, r, reinterpret_cast<double *>(ranks.at(r, 128)));
                    },
                    /*mayReplay=*/true),
                "");
      for (int r = 0; r < 2; ++r)
        ASSERT_EQ(ranks.read<double>(r, 128, 1)[0], expected);
    }
  });
}

/// Sums and messages do not block each other, in either direction, and none
/// takes what belongs to another.
TEST_P(Collectives, SumsPassMessagesUnderWay) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 256);
    ranks.params.channels = {{0, 1, 2}, {1, 0, 2}};
    ranks.params.collectives = {
        {{0, ranks.at(0, 0), 1}, {1, ranks.at(1, 0), 1}}};
    ranks.connect();
    for (int r = 0; r < 2; ++r) {
      ranks.write<double>(r, 0, {r == 0 ? 1.0 : 10.0});
      ranks.write<double>(r, 64, {r == 0 ? 3.0 : 30.0});
    }
    EXPECT_EQ(ranks.iterate([&](int r) {
      Transport &t = *ranks.transport;
      const int out = r, in = 1 - r;
      const Transport::Ticket sent =
          t.send(out, activation(r), ranks.at(r, 64), 8);
      t.addAll(0, r, reinterpret_cast<double *>(ranks.at(r, 128)));
      t.waitReceived(in, t.receive(in, activation(1 - r), ranks.at(r, 192), 8));
      t.waitSent(out, sent);
    }),
              "");
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(ranks.read<double>(r, 128, 1)[0], 11);
      EXPECT_EQ(ranks.read<double>(r, 192, 1)[0], r == 0 ? 30 : 3);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, Collectives, testing::ValuesIn(allPairs()),
                         nameOfPair);

} // namespace
