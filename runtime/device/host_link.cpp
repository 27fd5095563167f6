//===- host_link.cpp - Measured copies to a device's host -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/host_link.h"

#include "runtime/base/clock.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace rondo::runtime;

/// Bytes of a copy in each direction, and of one whose time is the latency.
static constexpr int64_t bytesPerCopy = int64_t(32) << 20, bytesForLatency = 64;
/// Repetitions of a copy, of which the median counts, after one that warms up.
static constexpr int timedCopies = 7;

std::string HostLinkRates::text() const {
  return "host_link = <latency_ns = " + std::to_string(latencyNs) +
         ", bytes_per_us = " + std::to_string(bytesPerUs) +
         (isHalf ? ", duplex = half>" : ">");
}

static double linkRateOf(int64_t bytes, int64_t ns, int64_t latencyNs) {
  return 1000 * double(bytes) / double(std::max<int64_t>(1, ns - latencyNs));
}

HostLinkRates rondo::runtime::hostLinkOf(const HostCopyTimes &times,
                                         int64_t bytes, int64_t latencyNs) {
  const double one = std::min(linkRateOf(bytes, times.outNs, latencyNs),
                              linkRateOf(bytes, times.inNs, latencyNs)),
               both = linkRateOf(2 * bytes, times.bothNs, latencyNs);
  HostLinkRates rates;
  rates.latencyNs = latencyNs;
  rates.isHalf = both < 1.5 * one;
  rates.bytesPerUs =
      std::max<int64_t>(1, static_cast<int64_t>(rates.isHalf ? one : both / 2));
  return rates;
}

static void copyOnHost(const HostCopies &copies) {
  auto in = [&] {
    std::memcpy(copies.to, copies.fromHost,
                static_cast<size_t>(copies.inBytes));
  };
  if (copies.outBytes == 0)
    return in();
  std::thread other;
  if (copies.inBytes > 0)
    other = std::thread(in);
  std::memcpy(copies.toHost, copies.from, static_cast<size_t>(copies.outBytes));
  if (other.joinable())
    other.join();
}

HostLinkRates rondo::runtime::measureHostLink(Device &device) {
  const std::unique_ptr<Arena> arena = device.makeArena(2 * bytesPerCopy);
  const std::shared_ptr<char[]> host = device.makeHostMemory(2 * bytesPerCopy);
  auto timeOf = [&](int64_t bytes, bool out, bool in) {
    const HostCopies copies{arena->base(),
                            host.get(),
                            arena->base() + bytesPerCopy,
                            host.get() + bytesPerCopy,
                            out ? bytes : 0,
                            in ? bytes : 0};
    std::vector<int64_t> times;
    for (int round = 0; round <= timedCopies; ++round) {
      const int64_t begin = nowNs();
      if (!device.copyAtOnce(copies))
        copyOnHost(copies);
      if (round > 0)
        times.push_back(nowNs() - begin);
    }
    std::nth_element(times.begin(), times.begin() + timedCopies / 2,
                     times.end());
    return times[timedCopies / 2];
  };
  return hostLinkOf({timeOf(bytesPerCopy, true, false),
                     timeOf(bytesPerCopy, false, true),
                     timeOf(bytesPerCopy, true, true)},
                    bytesPerCopy, timeOf(bytesForLatency, true, false));
}

std::string rondo::runtime::writeHostLink(Device &device, JsonWriter &json) {
  const HostLinkRates link = measureHostLink(device);
  json.object()
      .member("latency_ns", link.latencyNs)
      .member("bytes_per_us", link.bytesPerUs);
  if (link.isHalf)
    json.member("duplex", "half");
  json.end();
  return link.text();
}
