//===- CollectiveTime.cpp - How long collectives take ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/CollectiveTime.h"

#include <algorithm>

using namespace rondo;

/// How long it takes to carry `pieces` of the bytes, each a `count`-th of them.
static int64_t exchangeNs(int64_t bytes, int64_t count, int64_t pieces,
                          int64_t rate) {
  // Both products can leave 64 bits.
  const auto sent = static_cast<unsigned __int128>(bytes) *
                    static_cast<unsigned __int128>(pieces);
  const auto each = static_cast<unsigned __int128>(rate) * count;
  return static_cast<int64_t>(
      std::min<unsigned __int128>((sent * 1000 + each - 1) / each, maxSum / 2));
}

/// How long it takes if each home's piece for each other passes `times`.
static int64_t exchangeNs(const Problem &problem,
                          const std::vector<int32_t> &homes, int64_t bytes,
                          int64_t times) {
  const int64_t count = static_cast<int64_t>(homes.size());
  if (count < 2)
    return 0;
  int64_t latencyNs = 0, rate = 0;
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (from != to) {
        const Link link =
            problem.linkBetween(problem.rankOf(from), problem.rankOf(to));
        latencyNs = std::max(latencyNs, link.latencyNs);
        if (link.bytesPerUs > 0)
          rate = rate == 0 ? link.bytesPerUs : std::min(rate, link.bytesPerUs);
      }
  int64_t ns =
      rate == 0 ? 0 : exchangeNs(bytes, count, times * (count - 1), rate);
  // By card: the pieces that leave by it, which are as many as come in.
  std::vector<int64_t> pieces(problem.cards.count());
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (const int32_t card =
              problem.cards.between(problem.rankOf(from), problem.rankOf(to))
                  .out;
          card >= 0)
        ++pieces[card];
  for (int32_t card = 0; card < problem.cards.count(); ++card)
    ns = std::max(ns, exchangeNs(bytes, count, times * pieces[card],
                                 problem.cards.bytesPerUs[card]));
  return ns + times * latencyNs;
}

int64_t rondo::sumOverHomesNs(const Problem &problem,
                              const std::vector<int32_t> &homes,
                              int64_t bytes) {
  return exchangeNs(problem, homes, bytes, /*times=*/2);
}

int64_t rondo::gatherOverHomesNs(const Problem &problem,
                                 const std::vector<int32_t> &homes,
                                 int64_t bytes) {
  return exchangeNs(problem, homes, bytes, /*times=*/1);
}
