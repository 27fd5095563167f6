//===- CollectiveTime.h - Times of collectives ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
#define RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H

#include "schedule/model/Problem.h"

#include <algorithm>
#include <vector>

namespace rondo {

/// Time in ns to carry `shards` shards, each 1/`count` of the bytes. Rounded
/// up, at most maxSum / 2.
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

/// The path on which the replicas of a sum exchange their shards. It determines
/// the number of latencies.
enum class SumPath : uint8_t {
  /// Each replica exchanges shards with all others at once: 2 latencies.
  /// Rondo's programs use this path.
  Direct,
  /// Shards go around a ring: 2 (r - 1) latencies for r replicas. The
  /// comparison of published planners uses this path
  /// (planning/chain/ChainCosts.h).
  Ring,
};

/// Time in ns to add `bytes` over `count` replicas once all have arrived. Each
/// replica receives its shard from the others, adds, and sends the sum to all:
/// (r - 1) / r of the bytes leave each of r replicas twice. `slowest` has the
/// lowest rate (0: no limit) and the largest latency between two of them.
/// Rounded up; 0 for one replica.
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

/// sumNs() of these replicas by their links. A NIC with n of r replicas, on a
/// server with m of them, carries n * (r - m) / r of the bytes twice in each
/// direction; if that takes longer, it counts.
int64_t sumOverReplicasNs(const Problem &problem,
                          const std::vector<int32_t> &replicas, int64_t bytes);

/// An arithmetic sequence of replicas: `first`, `first + step`, ...
struct ReplicaSteps {
  int32_t first = 0, step = 1, count = 0;
  int32_t operator[](int32_t k) const { return first + k * step; }
};

/// The replicas of a sharded stage that have the same shard as `replica`, one
/// in each group.
ReplicaSteps sameShardOfGroups(const Problem &problem, int32_t replica);

/// Bytes of a replica's shard of its gradients.
int64_t shardOfGradients(const Problem &problem, int32_t replica);

/// Time in ns to add that shard over the groups, after each group has reduced
/// its own; see sumOverReplicasNs().
int64_t sumAcrossNs(const Problem &problem, int32_t replica);

/// Time in ns until each of r replicas has gathered the shards of all, `bytes`
/// together, or has reduced its own shard: half of the exchange of
/// sumOverReplicasNs(), i.e. (r - 1) / r of the bytes and one latency.
int64_t gatherOverReplicasNs(const Problem &problem,
                             const std::vector<int32_t> &replicas,
                             int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
