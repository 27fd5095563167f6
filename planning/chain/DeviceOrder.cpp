//===- DeviceOrder.cpp - An order of the devices --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/DeviceOrder.h"

#include "planning/chain/ChainCosts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

using namespace rondo;

namespace {

/// Devices that stay together: single devices, or those of a server.
using Groups = std::vector<std::vector<int32_t>>;

/// One side of a minimum cut of some groups, as numbers of groups.
class MinimumCut {
public:
  MinimumCut(const ChainProblem &problem, const Groups &groups,
             const std::vector<int32_t> &some)
      : some(some), count(some.size()), weight(count * count), merged(count) {
    for (size_t i = 0; i < count; ++i) {
      merged[i] = {static_cast<int32_t>(i)};
      for (size_t j = 0; j < count; ++j) {
        if (i == j)
          continue;
        const std::vector<int32_t> &from = groups[some[i]],
                                   &to = groups[some[j]];
        const GroupLink link =
            linkBetween(problem, from.data(), static_cast<int32_t>(from.size()),
                        to.data(), static_cast<int32_t>(to.size()));
        weight[i * count + j] = std::min(link.rate, link.rateBack);
      }
    }
    left.resize(count);
    std::iota(left.begin(), left.end(), 0);
  }

  std::vector<int32_t> side() {
    while (left.size() > 1)
      phase();
    std::vector<int32_t> result;
    for (int32_t i : best)
      result.push_back(some[i]);
    return result;
  }

private:
  /// One phase of Stoer and Wagner: adds nodes in descending order of their
  /// total weight to those added before. The last node alone is one side of a
  /// cut, and is then merged with the node added before it.
  void phase() {
    std::vector<int64_t> tie(count, 0);
    std::vector<bool> isAdded(count, false);
    int32_t last = -1, before = -1;
    for (size_t step = 0; step < left.size(); ++step) {
      int32_t next = -1;
      for (int32_t node : left)
        if (!isAdded[node] && (next < 0 || tie[node] > tie[next]))
          next = node;
      isAdded[next] = true;
      before = last;
      last = next;
      for (int32_t node : left)
        if (!isAdded[node])
          tie[node] += weight[next * count + node];
    }
    if (best.empty() || tie[last] < cut) {
      cut = tie[last];
      best = merged[last];
    }
    const int32_t kept = std::min(last, before), gone = std::max(last, before);
    for (int32_t node : left) {
      weight[kept * count + node] += weight[gone * count + node];
      weight[node * count + kept] += weight[node * count + gone];
    }
    merged[kept].insert(merged[kept].end(), merged[gone].begin(),
                        merged[gone].end());
    left.erase(std::find(left.begin(), left.end(), gone));
  }

  const std::vector<int32_t> &some;
  const size_t count;
  /// [node * count + node].
  std::vector<int64_t> weight;
  std::vector<std::vector<int32_t>> merged;
  /// In ascending order.
  std::vector<int32_t> left, best;
  int64_t cut = 0;
};

void appendOrdered(const ChainProblem &problem, const Groups &groups,
                   std::vector<int32_t> some, std::vector<int32_t> &order) {
  std::sort(some.begin(), some.end());
  if (some.size() < 2) {
    for (int32_t group : some)
      order.insert(order.end(), groups[group].begin(), groups[group].end());
    return;
  }
  std::vector<int32_t> side = MinimumCut(problem, groups, some).side(), other;
  std::sort(side.begin(), side.end());
  std::set_difference(some.begin(), some.end(), side.begin(), side.end(),
                      std::back_inserter(other));
  if (other.front() < side.front())
    std::swap(side, other);
  appendOrdered(problem, groups, std::move(side), order);
  appendOrdered(problem, groups, std::move(other), order);
}

} // namespace

std::vector<int32_t> rondo::orderByMinimumCuts(const ChainProblem &problem) {
  // Beyond this, minimum cuts take seconds.
  constexpr size_t maxGroups = 128;
  Groups groups;
  if (static_cast<size_t>(problem.numDevices()) <= maxGroups) {
    for (int32_t device = 0; device < problem.numDevices(); ++device)
      groups.push_back({device});
  } else {
    std::map<int32_t, std::vector<int32_t>> servers;
    for (int32_t device = 0; device < problem.numDevices(); ++device)
      servers[problem.nodeOf[device]].push_back(device);
    for (auto &[node, devices] : servers)
      groups.push_back(std::move(devices));
  }
  std::vector<int32_t> all(groups.size()), order;
  std::iota(all.begin(), all.end(), 0);
  if (groups.size() <= maxGroups) {
    appendOrdered(problem, groups, std::move(all), order);
    return order;
  }
  for (const std::vector<int32_t> &devices : groups)
    order.insert(order.end(), devices.begin(), devices.end());
  return order;
}
