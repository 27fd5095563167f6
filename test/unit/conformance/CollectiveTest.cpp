//===- CollectiveTest.cpp - Sums have the same bits everywhere ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

#include <atomic>
#include <future>

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
      EXPECT_EQ(ranks.iterate([&](int r) { ranks.sumParts(0, r); },
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
  EXPECT_EQ(ranks.iterate([&](int) { ranks.sumParts(0, 0); }), "");
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
    EXPECT_EQ(ranks.iterate([&](int r) { ranks.sumParts(0, r); }), "");
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
      EXPECT_EQ(ranks.iterate([&](int r) { ranks.addAll(0, r, 128); },
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
      ranks.addAll(0, r, 128);
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

//===----------------------------------------------------------------------===//
// Starts and waits.
//===----------------------------------------------------------------------===//

class Starts : public Conformance {
protected:
  /// Two ranks, a channel each way, and sums of `count` elements at offset 0,
  /// 64, ... of both: rank 0 has 1, 2, ..., rank 1 ten times that.
  static Ranks twoRanks(size_t collectives, int64_t count = 1) {
    Ranks ranks(GetParam(), 2, 256 + 4 * count);
    ranks.params.channels = {{0, 1, 2}, {1, 0, 2}};
    for (size_t c = 0; c < collectives; ++c) {
      const int64_t at = 64 * static_cast<int64_t>(c);
      ranks.params.collectives.push_back(
          {{0, ranks.at(0, at), count}, {1, ranks.at(1, at), count}});
    }
    ranks.connect();
    for (size_t c = 0; c < collectives; ++c)
      for (int r = 0; r < 2; ++r)
        ranks.write<float>(r, 64 * static_cast<int64_t>(c),
                           std::vector<float>(count, (c + 1) * (r ? 10 : 1)));
    return ranks;
  }
  static void send(Ranks &ranks, int from) {
    Transport &t = *ranks.transport;
    t.waitSent(from, t.send(from, activation(from), ranks.at(from, 192), 8));
  }
  static void receive(Ranks &ranks, int from) {
    Transport &t = *ranks.transport;
    t.waitReceived(
        from, t.receive(from, activation(from), ranks.at(1 - from, 200), 8));
  }
};

/// Work of the device in between is neither delayed nor harmed.
TEST_P(Starts, WorkStandsBetweenStartAndWait) {
  inAllOrders([&] {
    Ranks ranks = twoRanks(1);
    float expected = 11;
    for (int i = 0; i < 4; ++i, expected *= 2) {
      EXPECT_EQ(ranks.iterate(
                    [&](int r) {
                      ranks.fill(r, 128, 0, 8);
                      ranks.transport->startSumParts(0, r);
                      ranks.fill(r, 128, 7, 8);
                      ranks.copy(r, 136, 128, 8);
                      ranks.transport->waitCollective(0, r);
                      ranks.copy(r, 160, 0, 4);
                    },
                    /*mayReplay=*/true),
                "");
      for (int r = 0; r < 2; ++r) {
        ASSERT_EQ(ranks.read<char>(r, 136, 8), std::vector<char>(8, 7));
        ASSERT_EQ(ranks.read<float>(r, 160, 1)[0], expected);
      }
    }
  });
}

TEST_P(Starts, TwoAreInFlightAndAwaitedInAnyOrder) {
  inAllOrders([&] {
    for (int waitsFirst : {0, 1}) {
      Ranks ranks = twoRanks(2);
      for (int i = 0; i < 3; ++i) {
        for (int r = 0; r < 2; ++r)
          ranks.write<double>(r, 64, {r == 0 ? 1.5 : 20.0});
        EXPECT_EQ(ranks.iterate(
                      [&](int r) {
                        Transport &t = *ranks.transport;
                        t.startSumParts(0, r);
                        ranks.startAddAll(1, r, 128);
                        // The ranks need not even agree on the order.
                        const int first = r == 0 ? waitsFirst : 0;
                        t.waitCollective(first, r);
                        t.waitCollective(1 - first, r);
                      },
                      /*mayReplay=*/true),
                  "");
        for (int r = 0; r < 2; ++r) {
          ASSERT_EQ(ranks.read<float>(r, 0, 1)[0], 11 << i);
          ASSERT_EQ(ranks.read<double>(r, 128, 1)[0], 21.5);
        }
      }
    }
  });
}

/// Rank 1 starts after a message that rank 0 sends after its start, and rank 0
/// waits after one that rank 1 sends after its wait.
TEST_P(Starts, EarlyOnesLetOthersGoOn) {
  inAllOrders([&] {
    Ranks ranks = twoRanks(1);
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(ranks.iterate(
                    [&](int r) {
                      Transport &t = *ranks.transport;
                      if (r == 1)
                        receive(ranks, 0);
                      t.startSumParts(0, r);
                      if (r == 0) {
                        send(ranks, 0);
                        receive(ranks, 1);
                      }
                      t.waitCollective(0, r);
                      if (r == 1)
                        send(ranks, 1);
                    },
                    /*mayReplay=*/true),
                "");
      for (int r = 0; r < 2; ++r)
        ASSERT_EQ(ranks.read<float>(r, 0, 1)[0], 11 << (i - 1));
    }
  });
}

/// A rank on a CPU that computes, and makes no calls, does not hold up others.
TEST_P(Starts, NeedNoHelpOfARankThatComputes) {
  if (targetOf(GetParam()) != Target::Cpu)
    return;
  // Several chunks and pieces.
  constexpr int64_t count = 600'000;
  Ranks ranks = twoRanks(1, count);
  std::promise<void> otherHasResult;
  std::future<void> computes = otherHasResult.get_future();
  EXPECT_EQ(ranks.iterate([&](int r) {
    Transport &t = *ranks.transport;
    t.startSumParts(0, r);
    if (r == 0) {
      EXPECT_EQ(computes.wait_for(std::chrono::seconds(100)),
                std::future_status::ready);
      return t.waitCollective(0, r);
    }
    t.waitCollective(0, r);
    otherHasResult.set_value();
  }),
            "");
  for (int r = 0; r < 2; ++r)
    EXPECT_TRUE(ranks.read<float>(r, 0, count) ==
                std::vector<float>(count, 11));
}

/// One that is complete, and one that never will be.
TEST_P(Starts, EndWithAnAbort) {
  inAllOrders([&] {
    Ranks ranks = twoRanks(2);
    Transport &t = *ranks.transport;
    std::atomic<int> ended{0};
    std::thread watcher([&] {
      auto isThere = [&] {
        const Waiting waiting = t.waiting(0);
        return waiting.what == Waiting::For::Collective &&
               waiting.collective == 1 &&
               t.waiting(1).what == Waiting::For::Arrival;
      };
      while (ended == 0 && !isThere())
        std::this_thread::yield();
      EXPECT_EQ(t.waiting(0).onRank, 1);
      t.abort();
    });
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; ++r)
      threads.emplace_back([&, r] {
        EXPECT_THROW(t.iterate(r, false,
                               [&] {
                                 t.startSumParts(0, r);
                                 if (r == 0)
                                   t.startSumParts(1, r);
                                 t.waitCollective(0, r);
                                 if (r == 0)
                                   t.waitCollective(1, r);
                                 else
                                   receive(ranks, 0);
                               }),
                     Aborted);
        ++ended;
      });
    for (std::thread &thread : threads)
      thread.join();
    watcher.join();
    EXPECT_EQ(ended, 2);
  });
}

INSTANTIATE_TEST_SUITE_P(, Starts, testing::ValuesIn(allPairs()), nameOfPair);
INSTANTIATE_TEST_SUITE_P(, Collectives, testing::ValuesIn(allPairs()),
                         nameOfPair);

} // namespace
