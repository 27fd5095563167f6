//===- EmulatedLinks.cpp - Transfers between GPUs with different clocks ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"
#include "EmulatedBackend.h"

#include "test/cuda_emulation/emulation.h"

#include "runtime/transport/cuda/device_stamps.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

constexpr int64_t hourNs = 3600ll * 1'000'000'000;

const Pair &nccl() {
  for (const Pair &pair : allPairs())
    if (pair.backend == &emulatedNccl)
      return pair;
  throw Error("no NCCL");
}

/// An uncorrected clock would make transfers take an hour one way, and no time
/// the other way.
TEST(EmulatedLinks, ClocksOfGpusAreCorrected) {
  nccl().begin(0);
  emulation::setClockOffset(0, -3 * hourNs);
  emulation::setClockOffset(1, 2 * hourNs);
  {
    Ranks ranks(nccl(), 2, 4096);
    ranks.params.channels = {{0, 1, 1}, {1, 0, 1}};
    ranks.connect();
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(ranks.iterate(
                    [&](int rank) {
                      Transport &t = *ranks.transport;
                      const Transport::Ticket ticket =
                          t.send(rank, activation(rank), ranks.at(rank, 0), 64);
                      t.waitReceived(1 - rank,
                                     t.receive(1 - rank, activation(1 - rank),
                                               ranks.at(rank, 1024), 64));
                      t.waitSent(rank, ticket);
                    },
                    /*mayReplay=*/true),
                "");
    for (const LinkFigures &link : ranks.transport->links()) {
      EXPECT_EQ(link.messages, 4);
      EXPECT_LT(link.latencyNs +
                    (link.bytesPerUs > 0 ? 64'000 / link.bytesPerUs : 0),
                hourNs / 2);
      EXPECT_GT(link.clockErrorNs, 0);
      EXPECT_LT(link.clockErrorNs, hourNs / 2);
    }
  }
  emulation::setClockOffset(0, 0);
  emulation::setClockOffset(1, 0);
  nccl().end();
}

std::vector<cuda::DeviceStamp> stampsAt(std::vector<uint64_t> times,
                                        int64_t bytes) {
  std::vector<cuda::DeviceStamp> stamps;
  for (uint64_t time : times)
    stamps.push_back({bytes, time});
  return stamps;
}

TEST(EmulatedLinks, OneSizeTakesTheLatencyOfTheStart) {
  cuda::DeviceMeter meter;
  meter.add(stampsAt({100, 1000}, 0), stampsAt({200, 1000}, 0),
            stampsAt({2300, 3500}, 0));
  meter.add(stampsAt({10'000, 20'000}, 500), stampsAt({9'000, 25'000}, 500),
            stampsAt({13'200, 28'100}, 500));
  const LinkFigures link = meter.figures(3, 4);
  EXPECT_EQ(link.from, 3);
  EXPECT_EQ(link.to, 4);
  EXPECT_EQ(link.messages, 2);
  // 2.1 us at the start, 3.1 us with 500 bytes.
  EXPECT_NEAR(link.latencyNs, 2100, 1e-6);
  EXPECT_NEAR(link.bytesPerUs, 500, 1e-6);
}

TEST(EmulatedLinks, FirstOfEachSizeIsStamped) {
  cuda::StampedSizes sizes;
  EXPECT_TRUE(sizes.isEmpty());
  EXPECT_FALSE(sizes.isNew(0));
  EXPECT_TRUE(sizes.isEmpty());
  EXPECT_TRUE(sizes.isNew(8));
  EXPECT_FALSE(sizes.isNew(8));
  EXPECT_TRUE(sizes.isNew(16));
  EXPECT_FALSE(sizes.isEmpty());
  sizes.beginIteration();
  EXPECT_TRUE(sizes.isNew(8));
}

/// A GPU whose clock is an hour late.
TEST(EmulatedLinks, ClockOfAGpuIsSeenFromTheHost) {
  emulation::setClockOffset(0, -hourNs);
  cuda::GpuClock clock;
  std::shared_ptr<cuda::Gpu> gpu = cuda::Gpu::get(0);
  clock.compare(*gpu);
  emulation::setClockOffset(0, 0);
  const uint64_t stamp = 7ull * static_cast<uint64_t>(hourNs);
  const double found = static_cast<double>(clock.toHost(stamp)),
               wanted = static_cast<double>(stamp) + hourNs;
  EXPECT_NEAR(found, wanted, 0.5 * hourNs);
  EXPECT_GT(clock.errorNs(), 0);
}

} // namespace
