//===- ProcessLinks.cpp - Transfers between different clocks --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests advance the time, so that every figure is exact. Messages end when
// the gate is opened, whichever thread looks first.
//
//===----------------------------------------------------------------------===//

#include "AllProcesses.h"
#include "MemoryEndpoint.h"

#include "gtest/gtest.h"

#include <atomic>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

struct Time {
  std::atomic<int64_t> now{0};
  /// Duration of a reading of the clock.
  int64_t step = 0;
  std::atomic<bool> isGateOpen{true};
};

class FakeClock : public StampClock {
public:
  FakeClock(Time &time, int64_t offset, double rate, std::string name)
      : time(time), offset(offset), rate(rate), myName(std::move(name)) {}
  uint64_t now() override {
    const int64_t ns = time.now.fetch_add(time.step) + time.step;
    return static_cast<uint64_t>(offset +
                                 static_cast<int64_t>(rate * double(ns)));
  }
  double nsPerUnit() const override { return 1 / rate; }
  std::string name() const override { return myName; }

private:
  Time &time;
  const int64_t offset;
  const double rate;
  const std::string myName;
};

class GatedEndpoint : public MemoryEndpoint {
public:
  GatedEndpoint(Time &time, std::shared_ptr<Network> network, int32_t rank)
      : MemoryEndpoint(std::move(network), rank), time(time) {}
  bool test(int32_t operation, Ended &ended) override {
    return time.isGateOpen && MemoryEndpoint::test(operation, ended);
  }

private:
  Time &time;
};

constexpr int64_t second = 1'000'000'000;

class ProcessLinks : public testing::Test {
protected:
  /// Process 1's clock is an hour ahead and gains `rate`.
  std::unique_ptr<Transport> connect(double rate, bool haveNames = false,
                                     ImposedLink link = {}) {
    TransportParams params;
    params.ranks = 2;
    params.channels = {{0, 1, 8}, {1, 0, 8}};
    params.imposeLinks = linkImposer(link);
    auto network = std::make_shared<Network>();
    return std::make_unique<AllProcesses>(params, 2, [=](int32_t p) {
      World world;
      world.process = p;
      world.processes = world.localProcesses = 2;
      return makeProcessTransport(
          params, world, std::make_unique<GatedEndpoint>(time, network, p), {2},
          std::make_unique<FakeClock>(time, p == 1 ? 3600 * second : 0,
                                      p == 1 ? rate : 1,
                                      haveNames ? "one clock" : ""));
    });
  }

  /// A message on a channel, sent and posted after this many ns, that arrives
  /// `ns` after the later of the two.
  void pass(Transport &t, int channel, int64_t bytes, int64_t sentNs,
            int64_t postedNs, int64_t ns) {
    const int64_t begin = time.now;
    time.isGateOpen = false;
    Transport::Ticket sent = 0, posted = 0;
    auto send = [&] {
      time.now = begin + sentNs;
      sent = t.send(channel, {}, from, bytes);
    };
    auto receive = [&] {
      time.now = begin + postedNs;
      posted = t.receive(channel, {}, to, bytes);
    };
    if (sentNs < postedNs) {
      send();
      receive();
    } else {
      receive();
      send();
    }
    time.now = begin + std::max(sentNs, postedNs) + ns;
    time.isGateOpen = true;
    t.waitReceived(channel, posted);
    t.waitSent(channel, sent);
    // The next one belongs to another iteration.
    for (int rank : {0, 1})
      t.iterate(rank, false, [] {});
  }

  Time time;
  char from[4096] = {}, to[4096] = {};
};

TEST_F(ProcessLinks, OffsetsAreCorrectedInBothDirections) {
  for (double rate : {1.0, 1.25, 0.5}) {
    time.now = 0;
    const std::unique_ptr<Transport> t = connect(rate);
    // 2 us and 50 bytes/us from 0 to 1, 6 us and 100 bytes/us back.
    for (int i = 0; i < 2; ++i)
      pass(*t, 0, 100, 0, 30'000, 4'000);
    pass(*t, 0, 300, 50'000, 20'000, 8'000);
    pass(*t, 0, 300, 0, 20'000, 9'000);
    for (int i = 0; i < 2; ++i) {
      pass(*t, 1, 200, 20'000, 0, 8'000);
      pass(*t, 1, 400, 0, 0, 10'000);
    }
    const std::vector<LinkFigures> links = t->links();
    ASSERT_EQ(links.size(), 2u);
    EXPECT_EQ(links[0].from, 0);
    EXPECT_EQ(links[0].to, 1);
    EXPECT_EQ(links[0].messages, 4);
    EXPECT_NEAR(links[0].latencyNs, 2'000, 10);
    EXPECT_NEAR(links[0].bytesPerUs, 50, 0.5);
    EXPECT_EQ(links[1].from, 1);
    EXPECT_EQ(links[1].to, 0);
    EXPECT_EQ(links[1].messages, 4);
    EXPECT_NEAR(links[1].latencyNs, 6'000, 10);
    EXPECT_NEAR(links[1].bytesPerUs, 100, 1);
    EXPECT_EQ(links[0].clockErrorNs, 0);
  }
}

/// A few millionths, as with quartz clocks, become ms within minutes.
TEST_F(ProcessLinks, DriftOfALongRunIsCorrected) {
  const std::unique_ptr<Transport> t = connect(1 + 20e-6);
  for (int minute = 0; minute < 10; ++minute) {
    pass(*t, 0, 100, 0, 1'000, 4'000);
    time.now = time.now + 60 * second;
    pass(*t, 0, 300, 0, 1'000, 8'000);
    if (minute == 4) {
      EXPECT_EQ(t->links()[0].messages, 10);
    }
  }
  const LinkFigures link = t->links()[0];
  EXPECT_EQ(link.messages, 20);
  EXPECT_NEAR(link.latencyNs, 2'000, 20);
  EXPECT_NEAR(link.bytesPerUs, 50, 0.5);
}

/// A question takes 200 ns here, and process 1 gets one every 300 ns.
TEST_F(ProcessLinks, OneSizeTakesTheLatencyOfTheStart) {
  time.step = 100;
  const std::unique_ptr<Transport> t = connect(1);
  time.step = 0;
  for (int i = 0; i < 2; ++i) {
    pass(*t, 0, 1000, 0, 1'000, 2'150);
    pass(*t, 1, 1000, 0, 1'000, 2'100);
  }
  time.step = 100;
  const std::vector<LinkFigures> links = t->links();
  // The clocks have been compared to within 150 and 100 ns.
  EXPECT_NEAR(links[0].latencyNs, 150, 1);
  EXPECT_NEAR(links[0].bytesPerUs, 500, 50);
  EXPECT_NEAR(links[0].clockErrorNs, 150, 1);
  EXPECT_NEAR(links[1].latencyNs, 100, 1);
  EXPECT_NEAR(links[1].bytesPerUs, 500, 50);
  EXPECT_NEAR(links[1].clockErrorNs, 100, 1);
}

/// Without a comparison, a message that leaves an hour later than it arrives
/// seems to take no time.
TEST_F(ProcessLinks, ClocksOfOneNameAreOne) {
  const std::unique_ptr<Transport> t = connect(1, /*haveNames=*/true);
  pass(*t, 1, 100, 1'000, 0, 5'000);
  const LinkFigures link = t->links()[1];
  EXPECT_EQ(link.messages, 1);
  EXPECT_EQ(link.latencyNs, 0);
  EXPECT_EQ(link.bytesPerUs, 0);
  EXPECT_EQ(link.clockErrorNs, 0);
}

/// Imposed times are added to the arrival.
TEST_F(ProcessLinks, ImposedLinkIsFound) {
  const std::unique_ptr<Transport> t = connect(1, false, {1'000'000, 100});
  for (int i = 0; i < 2; ++i) {
    pass(*t, 0, 1000, 0, 1'000, 4'000);
    pass(*t, 0, 4000, 0, 1'000, 4'000);
  }
  const LinkFigures link = t->links()[0];
  EXPECT_NEAR(link.latencyNs, 1'004'000, 10);
  EXPECT_NEAR(link.bytesPerUs, 100, 0.1);
}

} // namespace
