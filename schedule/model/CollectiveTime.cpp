//===- CollectiveTime.cpp - Times of collectives --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/CollectiveTime.h"

#include <algorithm>

using namespace rondo;

/// Time in ns of an exchange in which each replica sends a shard to each other
/// one, `times` times.
static int64_t exchangeOverNs(const Problem &problem,
                              const std::vector<int32_t> &replicas,
                              int64_t bytes, int64_t times) {
  const int64_t count = static_cast<int64_t>(replicas.size());
  if (count < 2)
    return 0;
  int64_t latencyNs = 0, rate = 0;
  for (int32_t from : replicas)
    for (int32_t to : replicas)
      if (from != to) {
        const Link link =
            problem.linkBetween(problem.rankOf(from), problem.rankOf(to));
        latencyNs = std::max(latencyNs, link.latencyNs);
        if (link.bytesPerUs > 0)
          rate = rate == 0 ? link.bytesPerUs : std::min(rate, link.bytesPerUs);
      }
  int64_t ns =
      rate == 0 ? 0 : exchangeNs(bytes, count, times * (count - 1), rate);
  // [nic]: number of shards that leave through it; the same number arrives.
  std::vector<int64_t> pieces(problem.nics.count());
  for (int32_t from : replicas)
    for (int32_t to : replicas)
      if (const int32_t nic =
              problem.nics.between(problem.rankOf(from), problem.rankOf(to))
                  .out;
          nic >= 0)
        ++pieces[nic];
  for (int32_t nic = 0; nic < problem.nics.count(); ++nic)
    ns = std::max(ns, exchangeNs(bytes, count, times * pieces[nic],
                                 problem.nics.bytesPerUs[nic]));
  return ns + times * latencyNs;
}

int64_t rondo::sumOverReplicasNs(const Problem &problem,
                                 const std::vector<int32_t> &replicas,
                                 int64_t bytes) {
  return exchangeOverNs(problem, replicas, bytes, /*times=*/2);
}

ReplicaSteps rondo::sameShardOfGroups(const Problem &problem, int32_t replica) {
  const Replica &one = problem.replicas[replica];
  return {problem.replicas.numberOf(one.stage) + one.shard, one.shards,
          static_cast<int32_t>(problem.replicas.of(one.stage).size()) /
              one.shards};
}

int64_t rondo::shardOfGradients(const Problem &problem, int32_t replica) {
  return problem.cost(replica, ActionKind::ReduceGrad).releaseBytes /
         problem.replicas[replica].shards;
}

int64_t rondo::sumAcrossNs(const Problem &problem, int32_t replica) {
  const ReplicaSteps all = sameShardOfGroups(problem, replica);
  std::vector<int32_t> replicas;
  for (int32_t k = 0; k < all.count; ++k)
    replicas.push_back(all[k]);
  return sumOverReplicasNs(problem, replicas,
                           shardOfGradients(problem, replica));
}

int64_t rondo::gatherOverReplicasNs(const Problem &problem,
                                    const std::vector<int32_t> &replicas,
                                    int64_t bytes) {
  return exchangeOverNs(problem, replicas, bytes, /*times=*/1);
}
