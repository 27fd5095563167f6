//===- link_estimate.h - A link's state from its last messages --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H
#define RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H

#include "runtime/transport/links.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// How a directed link between two ranks has carried its last messages.
struct LinkEstimate {
  int32_t from = 0, to = 0;
  int64_t messages = 0;
  /// Of the largest messages.
  int64_t bytes = 0;
  /// From the beginning of such a message's transfer to its arrival, where no
  /// other message was on the link: the median, and half of the distance
  /// between the quartiles.
  int64_t medianNs = 0, spreadNs = 0;
  /// What the transfer consists of. bytesPerUs == 0: it occupies nothing.
  int64_t latencyNs = 0, bytesPerUs = 0;
};

/// Of a link's transfers, in their order. A message that finds the link free
/// takes latency and occupancy; one that comes behind another arrives an
/// occupancy after it. Where fewer than two have waited, the latency is at
/// least what messages had left when others passed the link behind them without
/// waiting, and `assumedLatencyNs`, as far as transfers are that long. Messages
/// of another size than the largest count as those that come before.
LinkEstimate estimateLink(const std::vector<Transfer> &transfers,
                          int64_t assumedLatencyNs);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_LINK_ESTIMATE_H
