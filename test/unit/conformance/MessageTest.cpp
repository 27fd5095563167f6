//===- MessageTest.cpp - What every device and transport must do ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"

#include "runtime/base/clock.h"

#include <atomic>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

constexpr int forth = 0, back = 1;

std::vector<ChannelParams> bothWays(int64_t messages) {
  return {{0, 1, messages}, {1, 0, messages}};
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

TEST_P(Conformance, ArenaHasTheAskedSizeAndAlignment) {
  std::unique_ptr<Device> device = GetParam().backend->makeDevice(0, 1, {});
  std::unique_ptr<Arena> arena = device->makeArena(1000);
  EXPECT_EQ(arena->bytes(), 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->base()) % bufferAlignment, 0u);
  int32_t in = 42, out = 1;
  arena->read(&out, arena->base() + 996, 4);
  EXPECT_EQ(out, 0);
  arena->write(arena->base() + 996, &in, 4);
  in = 0;
  arena->read(&out, arena->base() + 996, 4);
  EXPECT_EQ(out, 42);
  arena->fill(arena->base(), 0xff, 1000);
  arena->read(&out, arena->base() + 996, 4);
  EXPECT_EQ(out, -1);
  EXPECT_EQ(device->makeArena(0)->bytes(), 0);
}

TEST_P(Conformance, LargeTransfersArriveWhole) {
  // More than any staging memory.
  constexpr size_t count = 5 << 20;
  Ranks ranks(GetParam(), 1, 4 * count);
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<int32_t>(i * 2654435761u);
  ranks.write(0, 0, values);
  EXPECT_TRUE(ranks.read<int32_t>(0, 0, count) == values);
}

/// One slot at each end, used again and again.
TEST_P(Conformance, MessagesArriveInOrder) {
  constexpr int messages = 60;
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 64 * (messages + 1));
    ranks.params.channels = bothWays(messages);
    ranks.connect();
    EXPECT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      for (int i = 0; i < messages; ++i) {
        if (rank == 0) {
          ranks.fill(0, 0, i, 64);
          t.waitSent(forth, t.send(forth, activation(i), ranks.at(0, 0), 64));
        } else {
          t.waitReceived(forth,
                         t.receive(forth, activation(i), ranks.at(1, 0), 64));
          ranks.copy(1, 64 * (i + 1), 0, 64);
        }
      }
    }),
              "");
    for (int i = 0; i < messages; ++i)
      ASSERT_EQ(ranks.read<char>(1, 64 * (i + 1), 64),
                std::vector<char>(64, static_cast<char>(i)));
  });
}

/// Neither needs its receives to begin before its sends have.
TEST_P(Conformance, MessagesCrossInAnyNumber) {
  constexpr int messages = 4;
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 16 * messages);
    ranks.params.channels = bothWays(messages);
    ranks.connect();
    for (int i = 0; i < messages; ++i)
      for (int rank : {0, 1})
        ranks.write<int64_t>(rank, 8 * i, {10 * rank + i});
    for (bool mayReplay : {false, true, true})
      EXPECT_EQ(ranks.iterate(
                    [&](int rank) {
                      Transport &t = *ranks.transport;
                      const int out = rank == 0 ? forth : back;
                      auto name = [](int channel, int i) {
                        return channel == forth ? activation(i) : gradient(i);
                      };
                      std::vector<Transport::Ticket> sent, received;
                      for (int i = 0; i < messages; ++i)
                        sent.push_back(t.send(out, name(out, i),
                                              ranks.at(rank, 8 * i), 8));
                      for (int i = 0; i < messages; ++i)
                        received.push_back(
                            t.receive(1 - out, name(1 - out, i),
                                      ranks.at(rank, 8 * (messages + i)), 8));
                      for (int i = 0; i < messages; ++i) {
                        t.waitReceived(1 - out, received[i]);
                        t.waitSent(out, sent[i]);
                      }
                    },
                    mayReplay),
                "");
    for (int i = 0; i < messages; ++i)
      for (int rank : {0, 1})
        EXPECT_EQ(ranks.read<int64_t>(rank, 8 * (messages + i), 1)[0],
                  10 * (1 - rank) + i);
  });
}

TEST_P(Conformance, EarlyReceiveTakesALateSend) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = bothWays(1);
  ranks.connect();
  ranks.write<int64_t>(0, 0, {7});
  EXPECT_EQ(ranks.iterate([&](int rank) {
    Transport &t = *ranks.transport;
    if (rank == 1) {
      t.waitReceived(forth, t.receive(forth, activation(0), ranks.at(1, 0), 8));
      return;
    }
    pause();
    t.waitSent(forth, t.send(forth, activation(0), ranks.at(0, 0), 8));
  }),
            "");
  EXPECT_EQ(ranks.read<int64_t>(1, 0, 1)[0], 7);
}

TEST_P(Conformance, SentBufferStaysInUseUntilItIsWaitedFor) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 64);
    ranks.params.channels = bothWays(1);
    ranks.connect();
    ranks.write<int64_t>(0, 0, {1});
    EXPECT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      if (rank == 1) {
        pause();
        t.waitReceived(forth,
                       t.receive(forth, activation(0), ranks.at(1, 0), 8));
        return;
      }
      Transport::Ticket ticket =
          t.send(forth, activation(0), ranks.at(0, 0), 8);
      t.waitSent(forth, ticket);
      ranks.fill(0, 0, 0xff, 8);
    }),
              "");
    EXPECT_EQ(ranks.read<int64_t>(1, 0, 1)[0], 1);
  });
}

TEST_P(Conformance, ReceiveWaitsForTheTaskThatUsesItsBuffer) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 128);
    ranks.params.channels = bothWays(1);
    ranks.connect();
    ranks.write<int64_t>(0, 0, {1});
    ranks.write<int64_t>(1, 0, {2});
    EXPECT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      if (rank == 0) {
        t.waitSent(forth, t.send(forth, activation(0), ranks.at(0, 0), 8));
        return;
      }
      ranks.copy(1, 64, 0, 8);
      t.waitReceived(forth, t.receive(forth, activation(0), ranks.at(1, 0), 8));
    }),
              "");
    EXPECT_EQ(ranks.read<int64_t>(1, 64, 1)[0], 2);
    EXPECT_EQ(ranks.read<int64_t>(1, 0, 1)[0], 1);
  });
}

TEST_P(Conformance, TicketsOfSeveralMessagesCanBeAwaitedInAnyOrder) {
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 256);
    ranks.params.channels = bothWays(2);
    ranks.connect();
    ranks.write<int64_t>(0, 0, {5, 6});
    EXPECT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      Transport::Ticket tickets[2];
      for (int i = 0; i < 2; ++i)
        tickets[i] =
            rank == 0 ? t.send(forth, activation(i), ranks.at(0, 8 * i), 8)
                      : t.receive(forth, activation(i), ranks.at(1, 8 * i), 8);
      for (int i = 1; i >= 0; --i)
        if (rank == 0)
          t.waitSent(forth, tickets[i]);
        else
          t.waitReceived(forth, tickets[i]);
      ranks.copy(rank, 64, 0, 16);
    }),
              "");
    EXPECT_EQ(ranks.read<int64_t>(1, 64, 2), (std::vector<int64_t>{5, 6}));
  });
}

/// Both ranks send before they receive, as in the steady state of 1F1B.
TEST_P(Conformance, CrossingMessagesPassEachOther) {
  constexpr int messages = 8;
  constexpr int64_t bytes = 1 << 20;
  inAllOrders([&] {
    Ranks ranks(GetParam(), 2, 3 * bytes);
    ranks.params.channels = bothWays(messages);
    ranks.connect();
    EXPECT_EQ(ranks.iterate([&](int rank) {
      Transport &t = *ranks.transport;
      const int out = rank == 0 ? forth : back, in = 1 - out;
      for (int i = 0; i < messages; ++i) {
        ranks.fill(rank, 0, 10 * rank + i, bytes);
        MessageName mine = rank == 0 ? activation(i) : gradient(i),
                    theirs = rank == 0 ? gradient(i) : activation(i);
        Transport::Ticket sent = t.send(out, mine, ranks.at(rank, 0), bytes);
        t.waitReceived(in, t.receive(in, theirs, ranks.at(rank, bytes), bytes));
        t.waitSent(out, sent);
      }
      ranks.copy(rank, 2 * bytes, bytes, bytes);
    }),
              "");
    for (int rank = 0; rank < 2; ++rank)
      EXPECT_TRUE(ranks.read<char>(rank, 2 * bytes, bytes) ==
                  std::vector<char>(bytes, static_cast<char>(10 * (1 - rank) +
                                                             messages - 1)));
  });
}

/// A chain of four ranks; iterations are recorded and repeated if the pair can,
/// with different data each time.
TEST_P(Conformance, RepeatedIterationsTakeTheNewData) {
  constexpr int count = 4, iterations = 5;
  inAllOrders([&] {
    Ranks ranks(GetParam(), count, 256);
    for (int r = 0; r + 1 < count; ++r)
      ranks.params.channels.push_back({r, r + 1, 2});
    ranks.connect();
    int calls = 0;
    for (int64_t n = 1; n <= iterations; ++n) {
      ranks.write<int64_t>(0, 0, {n, 100 * n});
      EXPECT_EQ(ranks.iterate(
                    [&](int rank) {
                      Transport &t = *ranks.transport;
                      if (rank == 0)
                        ++calls; // ranks are threads: only rank 0 writes
                      for (int i = 0; i < 2; ++i) {
                        if (rank > 0)
                          t.waitReceived(rank - 1,
                                         t.receive(rank - 1, activation(i),
                                                   ranks.at(rank, 8 * i), 8));
                        ranks.copy(rank, 64 + 8 * i, 8 * i, 8);
                        if (rank + 1 < count)
                          t.waitSent(rank,
                                     t.send(rank, activation(i),
                                            ranks.at(rank, 64 + 8 * i), 8));
                      }
                    },
                    /*mayReplay=*/true),
                "");
      ASSERT_EQ(ranks.read<int64_t>(count - 1, 64, 2),
                (std::vector<int64_t>{n, 100 * n}));
    }
    EXPECT_EQ(calls, GetParam().hasGraphs ? 2 : iterations);
  });
}

TEST_P(Conformance, AnotherMessageIsAnError) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = bothWays(2);
  ranks.connect();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    if (rank == 0)
      ranks.transport->send(forth, activation(4), ranks.at(0, 0), 8);
    else
      ranks.transport->receive(forth, activation(3), ranks.at(1, 0), 8);
  }),
            "rank 1 expects 0F3 from rank 0, which sends 0F4");
}

/// Two stages of one rank need what stage 0 makes.
TEST_P(Conformance, AnotherEdgeIsAnError) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = bothWays(2);
  ranks.connect();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    if (rank == 0)
      ranks.transport->send(forth, skipping(3), ranks.at(0, 0), 8);
    else
      ranks.transport->receive(forth, activation(3), ranks.at(1, 0), 8);
  }),
            "rank 1 expects 0F3 for stage 1 from rank 0, which sends 0F3 for "
            "stage 2");
}

TEST_P(Conformance, AnotherSizeIsAnError) {
  if (!GetParam().comparesSizes)
    GTEST_SKIP() << "what follows is not defined";
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = bothWays(1);
  ranks.connect();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    if (rank == 0)
      ranks.transport->send(forth, activation(0), ranks.at(0, 0), 4);
    else
      ranks.transport->receive(forth, activation(0), ranks.at(1, 0), 8);
  }),
            "message 0F0 of rank 0 has 4 bytes, rank 1 expects 8");
}

TEST_P(Conformance, TooManyMessagesAreAnError) {
  Ranks ranks(GetParam(), 2, 64);
  ranks.params.channels = bothWays(2);
  ranks.connect();
  EXPECT_EQ(ranks.iterate([&](int rank) {
    for (int i = 0; rank == 0 && i < 3; ++i)
      ranks.transport->send(forth, activation(i), ranks.at(0, 0), 8);
  }),
            "rank 0 sends 0F2 although the channel from rank 0 to rank 1 has "
            "had all messages of the iteration");
}

/// Waits until both ranks wait, and ends them.
TEST_P(Conformance, AbortEndsAllWaitsAndSaysWhatTheyWaitFor) {
  Ranks ranks(GetParam(), 2, 192);
  ranks.params.channels = bothWays(1);
  ranks.params.collectives = {{{0, ranks.at(0, 0), 1}, {1, ranks.at(1, 0), 1}}};
  ranks.connect();
  Transport &t = *ranks.transport;
  std::atomic<int> ended{0};
  std::thread watcher([&] {
    while (ended == 0 && (t.waiting(1).what != Waiting::For::Arrival ||
                          t.waiting(0).what != Waiting::For::Collective))
      std::this_thread::yield();
    Waiting waiting = t.waiting(1);
    EXPECT_EQ(waiting.onRank, 0);
    EXPECT_EQ(nameOf(waiting.message, ranks.params.edges), "0F0");
    EXPECT_EQ(t.waiting(0).onRank, 1);
    t.abort();
  });
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      EXPECT_THROW(t.iterate(rank, false,
                             [&] {
                               if (rank == 0)
                                 ranks.addAll(0, 0, 64);
                               else
                                 t.waitReceived(forth,
                                                t.receive(forth, activation(0),
                                                          ranks.at(1, 128), 8));
                             }),
                   Aborted);
      ++ended;
    });
  for (std::thread &thread : threads)
    thread.join();
  watcher.join();
  EXPECT_EQ(ended, 2);
}

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(allPairs()),
                         nameOfPair);

} // namespace
