//===- Residency.cpp - Ranks with limited launches ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/Residency.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace rondo;

int32_t rondo::countQueues(ActionRange order, const std::vector<Edge> &edges,
                           const std::vector<int32_t> &rankOfReplica) {
  std::set<std::pair<bool, int32_t>> ends;
  bool hasCollectives = false;
  for (Action action : order)
    switch (action.kind()) {
    case ActionKind::Send:
      ends.insert({true, rankOfReplica[edges[action.subject].to]});
      break;
    case ActionKind::Recv:
      ends.insert({false, rankOfReplica[edges[action.subject].from]});
      break;
    case ActionKind::AllReduce:
    case ActionKind::Unshard:
    case ActionKind::ReduceGrad:
      hasCollectives = true;
      break;
    default:
      break;
    }
  return static_cast<int32_t>(ends.size()) + (hasCollectives ? 1 : 0);
}

std::vector<int32_t>
rondo::limitResidency(const Schedule &order, const std::vector<Edge> &edges,
                      const std::vector<int32_t> &rankOfReplica,
                      int32_t resident) {
  if (resident <= 0)
    return {};
  std::vector<int32_t> limits(order.numRanks(), 0);
  bool isLimited = false;
  for (int32_t r = 0; r < order.numRanks(); ++r)
    if (countQueues(order.rank(r), edges, rankOfReplica) > resident) {
      limits[r] = resident;
      isLimited = true;
    }
  return isLimited ? limits : std::vector<int32_t>();
}

std::vector<int32_t> rondo::limitResidency(const Problem &problem,
                                           const Schedule &order,
                                           int32_t resident) {
  std::vector<int32_t> rankOfReplica;
  for (const Replica &replica : problem.replicas)
    rankOfReplica.push_back(replica.rank);
  return limitResidency(order, problem.edges, rankOfReplica, resident);
}
