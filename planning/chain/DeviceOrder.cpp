//===- DeviceOrder.cpp - Devices in a row ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/DeviceOrder.h"

#include <algorithm>
#include <iterator>
#include <numeric>

using namespace rondo;

namespace {

/// The devices of one side of a minimum cut of some devices.
class MinimumCut {
public:
  MinimumCut(const ChainProblem &problem, const std::vector<int32_t> &devices)
      : devices(devices), count(devices.size()), weight(count * count),
        merged(count) {
    for (size_t i = 0; i < count; ++i) {
      merged[i] = {static_cast<int32_t>(i)};
      for (size_t j = 0; j < count; ++j)
        if (i != j)
          weight[i * count + j] =
              std::min(problem.rate(devices[i], devices[j]),
                       problem.rate(devices[j], devices[i]));
    }
    left.resize(count);
    std::iota(left.begin(), left.end(), 0);
  }

  std::vector<int32_t> side() {
    while (left.size() > 1)
      phase();
    std::vector<int32_t> result;
    for (int32_t i : best)
      result.push_back(devices[i]);
    return result;
  }

private:
  /// Adds nodes by how strongly they are tied to those before; the last one
  /// alone is a cut, and is then merged with the one before it.
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

  const std::vector<int32_t> &devices;
  const size_t count;
  /// [node * count + node].
  std::vector<int64_t> weight;
  std::vector<std::vector<int32_t>> merged;
  /// Ascending.
  std::vector<int32_t> left, best;
  int64_t cut = 0;
};

void appendOrdered(const ChainProblem &problem, std::vector<int32_t> devices,
                   std::vector<int32_t> &order) {
  std::sort(devices.begin(), devices.end());
  if (devices.size() < 2) {
    order.insert(order.end(), devices.begin(), devices.end());
    return;
  }
  std::vector<int32_t> side = MinimumCut(problem, devices).side(), other;
  std::sort(side.begin(), side.end());
  std::set_difference(devices.begin(), devices.end(), side.begin(), side.end(),
                      std::back_inserter(other));
  if (other.front() < side.front())
    std::swap(side, other);
  appendOrdered(problem, std::move(side), order);
  appendOrdered(problem, std::move(other), order);
}

} // namespace

std::vector<int32_t> rondo::orderByMinimumCuts(const ChainProblem &problem) {
  std::vector<int32_t> devices(problem.numDevices()), order;
  std::iota(devices.begin(), devices.end(), 0);
  appendOrdered(problem, std::move(devices), order);
  return order;
}
