//===- link_estimate.cpp - A link's state from its last messages ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/link_estimate.h"

#include <algorithm>
#include <cstddef>

using namespace rondo::runtime;

/// The value that a share of all do not exceed. Reorders them; there are some.
static int64_t quantile(std::vector<int64_t> &values, double share) {
  const auto place =
      static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(),
                   values.begin() + static_cast<ptrdiff_t>(place),
                   values.end());
  return values[place];
}

LinkEstimate
rondo::runtime::estimateLink(const std::vector<Transfer> &transfers,
                             int64_t assumedLatencyNs) {
  LinkEstimate link;
  for (const Transfer &transfer : transfers)
    link.bytes = std::max(link.bytes, transfer.bytes);
  std::vector<int64_t> alone;
  for (size_t n = 0; n < transfers.size(); ++n) {
    const Transfer &own = transfers[n];
    if (own.bytes != link.bytes)
      continue;
    ++link.messages;
    if (n == 0 || own.beginNs >= transfers[n - 1].endNs)
      alone.push_back(own.endNs - own.beginNs);
  }
  if (alone.empty())
    return link;
  link.medianNs = quantile(alone, 0.5);
  link.spreadNs = (quantile(alone, 0.75) - quantile(alone, 0.25)) / 2;
  // Delayed by the one before, by more than noise: how long after it they come.
  // Not delayed although it has not arrived: it has left the link, so what it
  // still takes is latency.
  std::vector<int64_t> gaps, onTheWay;
  const int64_t mostAlone =
      link.medianNs + std::max(link.medianNs / 20, 2 * link.spreadNs);
  for (size_t n = 1; n < transfers.size(); ++n) {
    const Transfer &own = transfers[n], &before = transfers[n - 1];
    if (own.bytes != link.bytes || own.beginNs >= before.endNs)
      continue;
    if (own.endNs - own.beginNs > mostAlone)
      gaps.push_back(own.endNs - before.endNs);
    else
      onTheWay.push_back(before.endNs - own.beginNs);
  }
  int64_t latencyNs = assumedLatencyNs;
  if (gaps.size() >= 2)
    latencyNs = link.medianNs - quantile(gaps, 0.5);
  else if (onTheWay.size() >= 2)
    latencyNs = std::max(latencyNs, quantile(onTheWay, 0.9));
  link.latencyNs = std::clamp<int64_t>(latencyNs, 0, link.medianNs);
  if (const int64_t occupancyNs = link.medianNs - link.latencyNs;
      occupancyNs > 0) {
    // The nearest whole rate; the latency takes up the rest.
    link.bytesPerUs = std::max<int64_t>(
        1, (1000 * link.bytes + occupancyNs / 2) / occupancyNs);
    link.latencyNs = std::max<int64_t>(0, link.medianNs - 1000 * link.bytes /
                                                              link.bytesPerUs);
  }
  return link;
}
