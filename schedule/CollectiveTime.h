//===- CollectiveTime.h - How long collectives take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_COLLECTIVETIME_H
#define RONDO_SCHEDULE_COLLECTIVETIME_H

#include "schedule/Problem.h"

#include <algorithm>
#include <vector>

namespace rondo {

/// How long it takes to carry `shards` of the bytes, each a `count`-th of them,
/// in ns, rounded up, at most a half of maxSum.
inline int64_t exchangeNs(int64_t bytes, int64_t count, int64_t shards,
                          int64_t bytesPerUs) {
  // Both products can leave 64 bits.
  const auto sent = static_cast<unsigned __int128>(bytes) *
                    static_cast<unsigned __int128>(shards) * 1000;
  const auto each = static_cast<unsigned __int128>(bytesPerUs) * count;
  // Most do not, and a division of 128 bits is slow.
  if (sent + each <= static_cast<unsigned __int128>(infinite))
    return (static_cast<int64_t>(sent) + static_cast<int64_t>(each) - 1) /
           static_cast<int64_t>(each);
  return static_cast<int64_t>(
      std::min<unsigned __int128>((sent + each - 1) / each, maxSum / 2));
}

/// How the homes of a sum exchange their shards, which says how many latencies
/// pass.
enum class SumPath : uint8_t {
  /// Each with all others at once, 2 latencies. What Rondo's programs do.
  Direct,
  /// Round a ring, 2 (r - 1) latencies for r homes. By this rule published
  /// planners are compared (planning/chain/ChainCosts.h).
  Ring,
};

/// How long adding `bytes` over `count` homes takes, in ns, once all are there.
/// Each home gets its shard from the others, adds, and hands the sum to all: so
/// (r - 1) / r of the bytes leave each of r homes twice. `slowest` has the
/// lowest rate, 0 for no limit, and the largest latency between two of them.
/// Rounded up; 0 for one home.
inline int64_t sumNs(int64_t bytes, int64_t count, Link slowest,
                     SumPath path = SumPath::Direct) {
  if (count < 2)
    return 0;
  const int64_t steps = 2 * (count - 1),
                latencies = path == SumPath::Ring ? steps : 2;
  return latencies * slowest.latencyNs +
         (slowest.bytesPerUs == 0
              ? 0
              : exchangeNs(bytes, count, steps, slowest.bytesPerUs));
}

/// sumNs() of these homes by their links. A card with n of r homes, on a server
/// with m of them, carries n * (r - m) / r of the bytes twice in each
/// direction; if that takes longer, it counts.
int64_t sumOverHomesNs(const Problem &problem,
                       const std::vector<int32_t> &homes, int64_t bytes);

/// Some homes, each `step` behind the one before.
struct HomeSteps {
  int32_t first = 0, step = 1, count = 0;
  int32_t operator[](int32_t k) const { return first + k * step; }
};

/// The homes of a sharded stage that have the same piece of its state, one in
/// each group.
HomeSteps samePieceOfGroups(const Problem &problem, int32_t home);

/// Bytes of a home's piece of the gradients.
int64_t pieceOfGradients(const Problem &problem, int32_t home);

/// How long it takes to add that piece over the groups, as sumOverHomesNs(),
/// once each has reduced its own.
int64_t sumAcrossNs(const Problem &problem, int32_t home);

/// How long it takes until each of r homes has the pieces of all, `bytes`
/// together, or the sum of its own: the same way once, (r - 1) / r of the
/// bytes and one latency.
int64_t gatherOverHomesNs(const Problem &problem,
                          const std::vector<int32_t> &homes, int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_COLLECTIVETIME_H
