//===- link_estimate.h - A link's state from its last messages --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H
#define RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H

#include "runtime/transport/links.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// Figures of a directed link between two ranks, measured on its last messages.
struct LinkEstimate {
  int32_t from = 0, to = 0;
  int64_t messages = 0;
  /// Size of the largest messages.
  int64_t bytes = 0;
  /// From the beginning of such a message's transfer to its arrival, where no
  /// other message was on the link: the median, and half of the distance
  /// between the quartiles.
  int64_t medianNs = 0, spreadNs = 0;
  /// Parts of the transfer's time. bytesPerUs == 0: it occupies nothing.
  int64_t latencyNs = 0, bytesPerUs = 0;
};

/// Estimates a link from its transfers, in their order. A message that finds
/// the link free takes latency and occupancy; one that follows another arrives
/// an occupancy after it. If fewer than two have waited, the latency is at
/// least the time that messages still had when others passed the link after
/// them without waiting, and `assumedLatencyNs`, as far as transfers are that
/// long. Messages of another size than the largest count as those that come
/// before.
LinkEstimate estimateLink(const std::vector<Transfer> &transfers,
                          int64_t assumedLatencyNs);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H
