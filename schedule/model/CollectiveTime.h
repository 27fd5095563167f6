//===- CollectiveTime.h - Times of collectives ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
#define RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo {

/// Time in ns to add `bytes` of gradients over r replicas, from the moment when
/// all are ready. Each replica receives its piece from all others, adds, and
/// sends the sum to all. So (r - 1) / r of the bytes leave each replica twice,
/// at the lowest rate between two replicas (SPP, Luo et al. 2022: 2 (r - 1) / r
/// * bytes / rate), plus twice the longest latency. A NIC with n of the
/// replicas, on a server with m of them, carries n * (r - m) / r of the bytes
/// twice in each direction; the slower of both counts. Rounded up.
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
