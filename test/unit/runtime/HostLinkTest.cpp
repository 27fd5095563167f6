//===- HostLinkTest.cpp - Measured copies to a device's host --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/host_link.h"

#include <gtest/gtest.h>

using namespace rondo::runtime;

namespace {

TEST(HostLink, BothDirectionsAtOnceGiveTheRateOfAFullLink) {
  // 24,000 bytes/us each way alone, 40,000 together.
  const HostLinkRates rates =
      hostLinkOf({1'001'000, 1'001'000, 1'201'000}, 24'000'000, 1000);
  EXPECT_FALSE(rates.isHalf);
  EXPECT_EQ(rates.latencyNs, 1000);
  EXPECT_EQ(rates.bytesPerUs, 20'000);
  EXPECT_EQ(rates.text(),
            "host_link = <latency_ns = 1000, bytes_per_us = 20000>");
}

TEST(HostLink, LessThanHalfAsMuchAgainTogetherIsHalf) {
  // 24,000 and 12,000 bytes/us alone, 17,000 together: less than 18,000.
  HostLinkRates rates =
      hostLinkOf({1'000'000, 2'000'000, 2'823'530}, 24'000'000, 0);
  EXPECT_TRUE(rates.isHalf);
  EXPECT_EQ(rates.bytesPerUs, 12'000);
  EXPECT_EQ(
      rates.text(),
      "host_link = <latency_ns = 0, bytes_per_us = 12000, duplex = half>");
  // 19,200 together.
  rates = hostLinkOf({1'000'000, 2'000'000, 2'500'000}, 24'000'000, 0);
  EXPECT_FALSE(rates.isHalf);
  EXPECT_EQ(rates.bytesPerUs, 9600);
}

TEST(HostLink, CopiesFasterThanTheClockHaveARate) {
  EXPECT_GE(hostLinkOf({0, 0, 0}, 64, 10).bytesPerUs, 1);
}

} // namespace
