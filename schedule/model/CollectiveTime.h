//===- CollectiveTime.h - How long collectives take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
#define RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo {

/// How long adding `bytes` of gradients over r replicas takes, in ns, once all
/// are there: each replica gets its piece from all others, adds, and hands the
/// sum to all. So (r - 1) / r of the bytes leave each replica twice, at the
/// lowest rate between two of them (SPP, Luo et al. 2022: 2 (r - 1) / r * bytes
/// / rate), and the longest latency passes twice. A NIC with n of the replicas,
/// on a server with m of them, carries n * (r - m) / r of the bytes twice in
/// each direction; where that takes longer it counts. Rounded up.
int64_t sumOverReplicasNs(const Problem &problem,
                          const std::vector<int32_t> &replicas, int64_t bytes);

/// Some replicas, each `step` behind the one before.
struct ReplicaSteps {
  int32_t first = 0, step = 1, count = 0;
  int32_t operator[](int32_t k) const { return first + k * step; }
};

/// The replicas of a sharded stage that have the same shard of its state, one
/// in each group.
ReplicaSteps sameShardOfGroups(const Problem &problem, int32_t replica);

/// Bytes of a replica's shard of the gradients.
int64_t shardOfGradients(const Problem &problem, int32_t replica);

/// How long it takes to add that shard over the groups, as sumOverReplicasNs(),
/// once each has reduced its own.
int64_t sumAcrossNs(const Problem &problem, int32_t replica);

/// How long it takes until each of r replicas has the shards of all, `bytes`
/// together, or the sum of its own: the same way once, (r - 1) / r of the
/// bytes and one latency.
int64_t gatherOverReplicasNs(const Problem &problem,
                             const std::vector<int32_t> &replicas,
                             int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
