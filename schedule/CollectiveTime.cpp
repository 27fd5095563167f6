//===- CollectiveTime.cpp - How long collectives take ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/CollectiveTime.h"

#include <algorithm>

using namespace rondo;

int64_t rondo::sumOverHomesNs(const Problem &problem,
                              const std::vector<int32_t> &homes,
                              int64_t bytes) {
  const int64_t count = static_cast<int64_t>(homes.size());
  if (count < 2)
    return 0;
  int64_t latencyNs = 0, rate = 0;
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (from != to) {
        const Link &link =
            problem.linkBetween(problem.rankOf(from), problem.rankOf(to));
        latencyNs = std::max(latencyNs, link.latencyNs);
        if (link.bytesPerUs > 0)
          rate = rate == 0 ? link.bytesPerUs : std::min(rate, link.bytesPerUs);
      }
  if (rate == 0)
    return 2 * latencyNs;
  // Both products can leave 64 bits.
  const auto sent = static_cast<unsigned __int128>(bytes) * 2 * (count - 1);
  const auto each = static_cast<unsigned __int128>(rate) * count;
  return static_cast<int64_t>(std::min<unsigned __int128>(
             (sent * 1000 + each - 1) / each, maxSum / 2)) +
         2 * latencyNs;
}
