//===- host_link.h - Measured copies to a device's host ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_HOST_LINK_H
#define RONDO_RUNTIME_DEVICE_HOST_LINK_H

#include "runtime/base/json.h"
#include "runtime/device/device.h"

#include <string>

namespace rondo::runtime {

/// Times in ns of copies of equal size: to the host, from it, and both at once.
struct HostCopyTimes {
  int64_t outNs = 0, inNs = 0, bothNs = 0;
};

/// The figures of a plan's `host_link`.
struct HostLinkRates {
  int64_t latencyNs = 0, bytesPerUs = 1;
  /// One copy at a time; otherwise one in each direction.
  bool isHalf = false;

  /// `host_link = <latency_ns = 900, bytes_per_us = 12000, duplex = half>`.
  std::string text() const;
};

/// The link is `half` if both directions together carry less than 1.5 times
/// what the slower one carries alone; its rate is then that of the slower one.
/// Otherwise it is half of what both carry at once.
HostLinkRates hostLinkOf(const HostCopyTimes &times, int64_t bytes,
                         int64_t latencyNs);

/// Measures a device that nobody uses at the moment. Takes 64 MiB of its memory
/// and of the host's while it runs.
HostLinkRates measureHostLink(Device &device);
/// The same; writes the figures as an object and returns their text().
std::string writeHostLink(Device &device, JsonWriter &json);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_HOST_LINK_H
