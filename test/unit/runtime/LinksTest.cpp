//===- LinksTest.cpp - Measurements of channels ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/progress.h"
#include "runtime/transport/transport.h"

#include "gtest/gtest.h"

#include <cmath>
#include <thread>

using namespace rondo::runtime;

namespace {

LinkPoint pointOf(int64_t bytes, uint64_t least, uint64_t noise = 0) {
  return {bytes, 3, least, least + noise};
}

TEST(Links, FitFindsLatencyAndBandwidth) {
  // 2 us and 500 bytes/us: 2 ns per byte.
  const LinkFigures figures = fitLink(
      {pointOf(1000, 4000), pointOf(4000, 10000), pointOf(16000, 34000)}, 1, 0);
  EXPECT_NEAR(figures.latencyNs, 2000, 1e-6);
  EXPECT_NEAR(figures.bytesPerUs, 500, 1e-6);
  EXPECT_EQ(figures.messages, 9);
}

TEST(Links, FitSaysHowFarItIsOff) {
  // 1 ns per byte; each time is likely to be off by 100 ns. With sizes 2000
  // apart the slope is off by 100 * sqrt(2) / 2000, and the latency by
  // sqrt((3/2)^2 + (1/2)^2) * 100.
  LinkFigures figures =
      fitLink({pointOf(1000, 3000, 100), pointOf(3000, 5000, 100)}, 1, 0);
  EXPECT_NEAR(figures.latencyNs, 2000, 1e-6);
  EXPECT_NEAR(figures.bytesPerUs, 1000, 1e-6);
  EXPECT_TRUE(figures.hasSpread);
  EXPECT_EQ(figures.sizes, 2);
  EXPECT_NEAR(figures.bytesPerUsSpread, 1000 * 100 * std::sqrt(2) / 2000, 1e-6);
  EXPECT_NEAR(figures.latencySpreadNs, 100 * std::sqrt(2.5), 1e-6);
  EXPECT_NEAR(figures.residualNs, 0, 1e-6);
  // 30, -60 and 30 ns off the line.
  figures = fitLink(
      {pointOf(1000, 3030), pointOf(2000, 3940), pointOf(3000, 5030)}, 1, 0);
  EXPECT_NEAR(figures.bytesPerUs, 1000, 1e-6);
  EXPECT_NEAR(figures.residualNs, std::sqrt((900 + 3600 + 900) / 3.), 1e-6);
  figures = fitLink({{1000, 1, 3000, UINT64_MAX}}, 1, 3000);
  EXPECT_FALSE(figures.hasSpread);
  EXPECT_EQ(figures.latencySpreadNs, 0);
}

TEST(Links, ADescriptionHasTheSpreadUnlessTheLinkIsExact) {
  EXPECT_EQ(describeLink(fitLink(
                {pointOf(1000, 3000, 100), pointOf(3000, 5000, 100)}, 1, 0)),
            "6 messages, latency 2.000 us, 1000 bytes/us (+- 0.158 us, +- 71 "
            "bytes/us, residual 0.000 us over 2 sizes)");
  EXPECT_EQ(
      describeLink(fitLink({pointOf(1000, 3000), pointOf(3000, 5000)}, 1, 0)),
      "6 messages, latency 2.000 us, 1000 bytes/us");
  EXPECT_EQ(describeLink(fitLink({pointOf(1000, 700, 300)}, 1, 700)),
            "3 messages, latency 0.700 us, bandwidth not measurable (+- 0.300 "
            "us, 1 size of messages)");
}

TEST(Links, AClusterHasTheWorstForPairsThatSentNothing) {
  LinkFigures there = fitLink({pointOf(1000, 3000), pointOf(3000, 5000)}, 1, 0);
  LinkFigures back = fitLink({pointOf(1000, 4000), pointOf(3000, 5000)}, 1, 0);
  there.to = 1;
  back.from = 1;
  const std::string text = clusterOf({there, back}, 3);
  EXPECT_NE(text.find("pipe.cluster @measured link<latency_ns = 3500, "
                      "bytes_per_us = 1000> {\n  pipe.device @d0\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  pipe.link @d1 -> @d0 <latency_ns = 3500, bytes_per_us "
                      "= 2000>\n}\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("// other pairs sent nothing"), std::string::npos);
  EXPECT_EQ(clusterOf({there, back}, 2).find("other pairs"), std::string::npos);
}

TEST(Links, FitCountsInUnits) {
  const LinkFigures figures =
      fitLink({pointOf(1000, 8000), pointOf(4000, 20000)}, 0.5, 0);
  EXPECT_NEAR(figures.latencyNs, 2000, 1e-6);
  EXPECT_NEAR(figures.bytesPerUs, 500, 1e-6);
}

TEST(Links, OneSizeTakesTheLatencyOfTheStart) {
  const LinkFigures figures = fitLink({pointOf(1000, 4000)}, 1, 3000);
  EXPECT_NEAR(figures.latencyNs, 3000, 1e-6);
  EXPECT_NEAR(figures.bytesPerUs, 1000, 1e-6);
}

TEST(Links, NothingIsNegativeOrInfinite) {
  // Noise made larger messages faster.
  LinkFigures figures =
      fitLink({pointOf(1000, 4000), pointOf(2000, 3000)}, 1, 0);
  EXPECT_NEAR(figures.latencyNs, 3500, 1e-6);
  EXPECT_EQ(figures.bytesPerUs, 0);
  figures = fitLink({pointOf(0, 700)}, 1, 0);
  EXPECT_NEAR(figures.latencyNs, 700, 1e-6);
  EXPECT_EQ(figures.bytesPerUs, 0);
  figures = fitLink({}, 1, 0);
  EXPECT_EQ(figures.messages, 0);
  EXPECT_EQ(figures.latencyNs, 0);
}

TEST(Links, ANegativeLatencyIsNotMeasured) {
  const LinkFigures figures =
      fitLink({pointOf(1000, 1000), pointOf(4000, 10000)}, 1, 0);
  EXPECT_EQ(figures.latencyNs, 0);
  EXPECT_NEAR(figures.bytesPerUs, 1000 / 3.0, 1e-6);
}

TEST(Links, BandwidthExceedsTheNoise) {
  // 3 us apart; the error of the difference is 1.25 us, then half of that.
  LinkFigures figures =
      fitLink({pointOf(1000, 4000, 750), pointOf(4000, 7000, 1000)}, 1, 0);
  EXPECT_EQ(figures.bytesPerUs, 0);
  EXPECT_NEAR(figures.latencyNs, 5500, 1e-6);
  figures = fitLink({pointOf(1000, 4000, 375), pointOf(4000, 7000, 500)}, 1, 0);
  EXPECT_NEAR(figures.bytesPerUs, 1000, 1e-6);
  EXPECT_NEAR(figures.latencyNs, 3000, 1e-6);
  // One size, 1 us longer than an empty message.
  EXPECT_EQ(fitLink({pointOf(1000, 4000, 400)}, 1, 3000).bytesPerUs, 0);
  EXPECT_NEAR(fitLink({pointOf(1000, 4000, 300)}, 1, 3000).bytesPerUs, 1000,
              1e-6);
}

// Two steps of 10 ns are no reason to believe in a difference.
TEST(Links, BandwidthExceedsTheStepsOfTheClock) {
  EXPECT_EQ(fitLink({pointOf(1000, 20)}, 1, 0, 10).bytesPerUs, 0);
  EXPECT_EQ(fitLink({pointOf(0, 10), pointOf(1000, 30)}, 1, 0, 10).bytesPerUs,
            0);
  EXPECT_NEAR(
      fitLink({pointOf(0, 10), pointOf(1000, 110)}, 1, 0, 10).bytesPerUs, 10000,
      1e-6);
}

TEST(Links, NoiseTakesTwoTransfersOfEachSize) {
  const LinkFigures figures =
      fitLink({pointOf(1000, 4000), {4000, 1, 10000, UINT64_MAX}}, 1, 0);
  EXPECT_EQ(figures.messages, 4);
  EXPECT_EQ(figures.bytesPerUs, 0);
  EXPECT_NEAR(figures.latencyNs, 7000, 1e-6);
}

TEST(Links, MeterKeepsTheShortestOfEachSize) {
  LinkMeter meter;
  for (uint64_t duration : {70, 50, 60})
    meter.add(100, duration);
  meter.add(0, 5);
  meter.add(100, 55);
  const std::vector<LinkPoint> sizes = meter.sizes();
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].bytes, 100);
  EXPECT_EQ(sizes[0].count, 4);
  EXPECT_EQ(sizes[0].least, 50u);
  EXPECT_EQ(sizes[0].next, 55u);
  EXPECT_EQ(sizes[1].bytes, 0);
  EXPECT_EQ(sizes[1].count, 1);
  EXPECT_EQ(sizes[1].least, 5u);
  EXPECT_EQ(sizes[1].next, UINT64_MAX);
}

TEST(Links, MeterWithTooManySizesKeepsTheFirst) {
  LinkMeter meter;
  for (int64_t bytes = 0; bytes < LinkMeter::maxSizes + 5; ++bytes)
    meter.add(bytes, 1);
  EXPECT_EQ(meter.sizes().size(), size_t(LinkMeter::maxSizes));
}

/// Sends messages of these sizes, one after another, from rank 0 to rank 1.
std::vector<LinkFigures> measure(ImposedLink link,
                                 const std::vector<int64_t> &sizes) {
  TransportParams params;
  params.ranks = 2;
  params.channels = {{0, 1, static_cast<int64_t>(sizes.size())}};
  params.imposeLinks = linkImposer(link);
  std::unique_ptr<Transport> transport = makeInprocTransport(params, 2);
  std::vector<char> from(1 << 16, 1), to(1 << 16);
  std::thread receiver([&] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const MessageName name{0, static_cast<int32_t>(i), 0, 1};
      transport->waitReceived(0,
                              transport->receive(0, name, to.data(), sizes[i]));
    }
  });
  for (size_t i = 0; i < sizes.size(); ++i) {
    const MessageName name{0, static_cast<int32_t>(i), 0, 1};
    transport->waitSent(0, transport->send(0, name, from.data(), sizes[i]));
  }
  receiver.join();
  return transport->links();
}

// The imposed times are added to the time of the match, whatever the threads do
// before and after, so that the machine's load has no influence.
TEST(Links, ImposedLinkIsFound) {
  // 1 ms, and 10 ns per byte.
  const std::vector<LinkFigures> links =
      measure({1'000'000, 100}, {1000, 20000, 60000, 1000, 20000, 60000});
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].from, 0);
  EXPECT_EQ(links[0].to, 1);
  EXPECT_EQ(links[0].messages, 6);
  EXPECT_NEAR(links[0].latencyNs, 1e6, 1e4);
  EXPECT_NEAR(links[0].bytesPerUs, 100, 1);
}

TEST(Links, ImposedLinkIsFoundWithOneSize) {
  const std::vector<LinkFigures> links =
      measure({1'000'000, 100}, {20000, 20000});
  EXPECT_NEAR(links[0].latencyNs, 1e6, 1e4);
  EXPECT_NEAR(links[0].bytesPerUs, 100, 1);
}

TEST(Links, CopiesAreMeasured) {
  // Among many copies two take as little time as they can.
  std::vector<int64_t> sizes;
  for (int i = 0; i < 500; ++i)
    sizes.insert(sizes.end(), {64, 65536});
  const std::vector<LinkFigures> links = measure({}, sizes);
  EXPECT_EQ(links[0].messages, 1000);
  EXPECT_GT(links[0].bytesPerUs, 0);
}

} // namespace
