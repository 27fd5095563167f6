//===- CollectiveTime.cpp - How long collectives take ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/CollectiveTime.h"

#include "kinds/Shares.h"

#include <algorithm>

using namespace rondo;

int64_t rondo::sumOverHomesNs(const Problem &problem,
                              const std::vector<int32_t> &homes,
                              int64_t bytes) {
  const int64_t count = static_cast<int64_t>(homes.size());
  if (count < 2)
    return 0;
  // What one home sends in both halves.
  const int64_t sent = partOfUp(std::min(bytes, maxMessageBytes / 2),
                                count - 1, count) *
                       2;
  int64_t latencyNs = 0, occupancyNs = 0;
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (from != to) {
        const Link &link =
            problem.linkBetween(problem.rankOf(from), problem.rankOf(to));
        latencyNs = std::max(latencyNs, link.latencyNs);
        occupancyNs = std::max(occupancyNs, link.occupancyNs(sent));
      }
  return occupancyNs + 2 * latencyNs;
}
