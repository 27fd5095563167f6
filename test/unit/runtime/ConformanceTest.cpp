//===- ConformanceTest.cpp - What every device and transport must do ------===//
//
// A device and transport pair is one value of the suite's parameter.
//
//===----------------------------------------------------------------------===//

#include "runtime/clock.h"
#include "runtime/device/device.h"
#include "runtime/error.h"
#include "runtime/transport/transport.h"

#include "gtest/gtest.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

using namespace rondo::runtime;

namespace {

struct Backend {
  const char *name;
  std::unique_ptr<Device> (*makeDevice)();
  std::unique_ptr<Transport> (*makeTransport)(const TransportParams &params);
};

std::unique_ptr<Transport> inproc(const TransportParams &params) {
  return makeInprocTransport(params, 2);
}

const Backend backends[] = {{"cpu_inproc", makeCpuDevice, inproc}};

class Conformance : public testing::TestWithParam<Backend> {
protected:
  /// Two ranks, a channel each way, `messages` each.
  void connect(int64_t messages, ImposedLink link = {}) {
    params.ranks = 2;
    params.channels = {{0, 1, messages}, {1, 0, messages}};
    params.link = link;
    transport = GetParam().makeTransport(params);
  }
  static void onTwoRanks(const std::function<void()> &zero,
                         const std::function<void()> &one) {
    std::thread thread(one);
    zero();
    thread.join();
  }
  static MessageName activation(int32_t i) {
    return {Message::Activation, 0, i};
  }

  TransportParams params;
  std::unique_ptr<Transport> transport;
};

constexpr int forth = 0, back = 1;

TEST_P(Conformance, ArenaHasTheAskedSizeAndAlignment) {
  std::unique_ptr<Device> device = GetParam().makeDevice();
  std::unique_ptr<Arena> arena = device->makeArena(1000);
  EXPECT_EQ(arena->bytes(), 1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->base()) % bufferAlignment, 0u);
  int32_t in = 42, out = 0;
  arena->write(arena->base() + 996, &in, 4);
  arena->read(&out, arena->base() + 996, 4);
  EXPECT_EQ(out, 42);
  arena->fill(arena->base(), 0xff, 1000);
  arena->read(&out, arena->base() + 996, 4);
  EXPECT_EQ(out, -1);
  EXPECT_EQ(device->makeArena(0)->bytes(), 0);
}

TEST_P(Conformance, MessagesArriveInOrder) {
  constexpr int messages = 1000;
  connect(messages);
  std::vector<int64_t> sent(messages), received(messages, -1);
  onTwoRanks(
      [&] {
        Transport::Ticket last = 0;
        for (int i = 0; i < messages; ++i) {
          sent[i] = 3 * i;
          last = transport->send(forth, activation(i), &sent[i], 8);
        }
        transport->waitSent(forth, last);
      },
      [&] {
        for (int i = 0; i < messages; ++i)
          transport->waitReceived(
              forth, transport->receive(forth, activation(i), &received[i], 8));
      });
  EXPECT_EQ(received, sent);
}

TEST_P(Conformance, EarlyReceiveTakesALateSend) {
  connect(1);
  int64_t data = 7, received = 0;
  Transport::Ticket ticket =
      transport->receive(forth, activation(0), &received, 8);
  transport->send(forth, activation(0), &data, 8);
  transport->waitReceived(forth, ticket);
  EXPECT_EQ(received, 7);
}

TEST_P(Conformance, SendDoesNotBlockAndItsBufferStaysInUse) {
  connect(1);
  int64_t data = 1, received = 0;
  Transport::Ticket ticket = transport->send(forth, activation(0), &data, 8);
  std::atomic<bool> isReleased{false};
  onTwoRanks(
      [&] {
        transport->waitSent(forth, ticket);
        isReleased = true;
        data = 2;
      },
      [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        EXPECT_FALSE(isReleased);
        transport->receive(forth, activation(0), &received, 8);
      });
  EXPECT_EQ(received, 1);
}

TEST_P(Conformance, TicketsOfSeveralMessagesCanBeAwaitedInAnyOrder) {
  connect(2);
  int64_t data[2] = {5, 6}, received[2] = {};
  Transport::Ticket first =
      transport->receive(forth, activation(0), &received[0], 8);
  Transport::Ticket second =
      transport->receive(forth, activation(1), &received[1], 8);
  transport->send(forth, activation(0), &data[0], 8);
  transport->send(forth, activation(1), &data[1], 8);
  transport->waitReceived(forth, second);
  transport->waitReceived(forth, first);
  EXPECT_EQ(received[0] + 10 * received[1], 65);
}

TEST_P(Conformance, ChannelsOfAPairAreApart) {
  connect(1);
  int64_t zero = 10, one = 11, atZero = 0, atOne = 0;
  Transport::Ticket ticketZero =
      transport->receive(back, {Message::Gradient, 1, 0}, &atZero, 8);
  transport->send(forth, activation(0), &zero, 8);
  Transport::Ticket ticketOne =
      transport->receive(forth, activation(0), &atOne, 8);
  transport->send(back, {Message::Gradient, 1, 0}, &one, 8);
  transport->waitReceived(forth, ticketOne);
  transport->waitReceived(back, ticketZero);
  EXPECT_EQ(atZero, 11);
  EXPECT_EQ(atOne, 10);
}

std::string errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST_P(Conformance, AnotherMessageIsAnError) {
  connect(2);
  int64_t data = 0;
  transport->send(forth, activation(4), &data, 8);
  EXPECT_EQ(
      errorOf([&] { transport->receive(forth, activation(3), &data, 8); }),
      "rank 1 expects 0F3 from rank 0, which sends 0F4");
}

TEST_P(Conformance, AnotherSizeIsAnError) {
  connect(1);
  int64_t data = 0, received = 0;
  transport->receive(forth, activation(0), &received, 8);
  EXPECT_EQ(errorOf([&] { transport->send(forth, activation(0), &data, 4); }),
            "message 0F0 of rank 0 has 4 bytes, rank 1 expects 8");
}

TEST_P(Conformance, TooManyMessagesAreAnError) {
  connect(2);
  int64_t data = 0;
  transport->send(forth, activation(0), &data, 8);
  transport->send(forth, activation(1), &data, 8);
  EXPECT_EQ(errorOf([&] { transport->send(forth, activation(2), &data, 8); }),
            "rank 0 sends 0F2 although the channel from rank 0 to rank 1 has "
            "had all messages of the iteration");
}

TEST_P(Conformance, ImposedLinkDelaysAndQueues) {
  // 1000 bytes at 1 byte/us occupy the link for 1 ms; then 5 ms of latency.
  connect(2, {5'000'000, 1});
  std::vector<char> data(1000), received(2000);
  Transport::Ticket first =
      transport->receive(forth, activation(0), received.data(), 1000);
  Transport::Ticket second =
      transport->receive(forth, activation(1), received.data() + 1000, 1000);
  int64_t start = nowNs();
  Transport::Ticket sent =
      transport->send(forth, activation(0), data.data(), 1000);
  transport->send(forth, activation(1), data.data(), 1000);
  EXPECT_LT(nowNs() - start, 900'000) << "send must not block";
  transport->waitSent(forth, sent);
  int64_t released = nowNs() - start;
  EXPECT_GE(released, 1'000'000);
  EXPECT_LT(released, 6'000'000);
  transport->waitReceived(forth, first);
  EXPECT_GE(nowNs() - start, 6'000'000);
  transport->waitReceived(forth, second);
  EXPECT_GE(nowNs() - start, 7'000'000);
}

TEST_P(Conformance, SumOfPartsIsInOrderAndGoesToAll) {
  // In fp32, (1e8 + 1) - 1e8 is 0 while (1e8 - 1e8) + 1 is 1.
  constexpr int count = 1001;
  std::vector<std::vector<float>> parts(3);
  params.ranks = 3;
  params.collectives.resize(1);
  float values[] = {1e8f, 1, -1e8f};
  for (int r = 0; r < 3; ++r) {
    parts[r].assign(count, values[r]);
    params.collectives[0].push_back({r, parts[r].data(), count});
  }
  transport = GetParam().makeTransport(params);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] { transport->sumParts(0, r); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &part : parts)
    EXPECT_EQ(part, std::vector<float>(count, 0.0f));
}

TEST_P(Conformance, PartsOfOneRankAreSummedToo) {
  std::vector<float> first = {1, 2}, second = {10, 20};
  params.ranks = 1;
  params.collectives = {{{0, first.data(), 2}, {0, second.data(), 2}}};
  transport = GetParam().makeTransport(params);
  transport->sumParts(0, 0);
  EXPECT_EQ(first, (std::vector<float>{11, 22}));
  EXPECT_EQ(second, first);
}

TEST_P(Conformance, AddAllFollowsThePartsNotTheRanks) {
  double parts[3][2] = {{1e16, 1}, {-1e16, 1}, {1, 1}};
  params.ranks = 2;
  params.collectives = {{{0, parts[0], 2}, {1, parts[1], 2}, {0, parts[2], 2}}};
  transport = GetParam().makeTransport(params);
  double expected = 1e16;
  for (double next : {1.0, -1e16, 1.0, 1.0, 1.0})
    expected += next;
  double sums[2] = {};
  for (int round = 0; round < 100; ++round) {
    onTwoRanks([&] { transport->addAll(0, 0, &sums[0]); },
               [&] { transport->addAll(0, 1, &sums[1]); });
    ASSERT_EQ(sums[0], expected);
    ASSERT_EQ(sums[1], expected);
  }
}

TEST_P(Conformance, AbortEndsAllWaits) {
  params.collectives.resize(1);
  double part = 0;
  params.collectives[0] = {{0, &part, 1}, {1, &part, 1}};
  connect(1);
  int64_t data = 0;
  std::thread receiver([&] {
    Transport::Ticket ticket =
        transport->receive(forth, activation(0), &data, 8);
    EXPECT_THROW(transport->waitReceived(forth, ticket), Aborted);
  });
  std::thread summer([&] {
    double sum;
    EXPECT_THROW(transport->addAll(0, 0, &sum), Aborted);
  });
  while (transport->waiting(1).what != Waiting::For::Arrival ||
         transport->waiting(0).what != Waiting::For::Collective)
    std::this_thread::yield();
  Waiting waiting = transport->waiting(1);
  EXPECT_EQ(waiting.onRank, 0);
  EXPECT_EQ(nameOf(waiting.message), "0F0");
  EXPECT_EQ(transport->waiting(0).onRank, 1);
  transport->abort();
  receiver.join();
  summer.join();
}

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(backends),
                         [](const testing::TestParamInfo<Backend> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
