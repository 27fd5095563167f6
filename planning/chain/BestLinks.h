//===- BestLinks.h - The best that groups of devices can have ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_BESTLINKS_H
#define RONDO_PLANNING_CHAIN_BESTLINKS_H

#include "planning/chain/ChainCosts.h"

#include <algorithm>

namespace rondo {

/// No groups of these sizes have faster links or devices than these, whichever
/// devices they consist of. What lower bounds count with.
class BestLinks {
public:
  /// O(devices^2 log devices).
  explicit BestLinks(const ChainProblem &problem);

  /// Of a group of `devices`, 2 or more: its slowest pair.
  GroupLink within(int32_t devices) const {
    const int64_t rate =
        std::min(connected[devices], degree(devices, devices - 1));
    return {rate, rate, latency(devices)};
  }
  /// Of a group of `devices`, 1 or more: its slowest device
  /// (ChainProblem::speedPercent).
  int64_t speedPercent(int32_t devices) const {
    return speeds.empty() ? 100 : speeds[devices - 1];
  }
  /// How many devices of a speed of 100 all are worth.
  double allDevices() const { return allSpeeds; }
  /// From a group of `from` devices to one of `to`, in the better direction.
  int64_t rateAcross(int32_t from, int32_t to) const {
    return std::min({connected[from + to], degree(from, to), degree(to, from)});
  }
  int64_t latencyAcross(int32_t from, int32_t to) const {
    return latency(from + to);
  }
  /// The fewest pieces of a message between two groups that go in turn
  /// (GroupLink::inTurn). Some NIC has at least an equal part of a group, and
  /// its server room for only so many devices of the other.
  int64_t inTurn(int32_t from, int32_t to) const {
    if (nics == 0)
      return 1;
    auto least = [&](int64_t group, int64_t other) {
      const int64_t part = (group + nics - 1) / nics;
      return part * (other - (largestServer - part));
    };
    return std::max({int64_t(1), least(from, to), least(to, from)});
  }

private:
  /// The highest rate that `count` devices have to `others` others each.
  int64_t degree(int32_t count, int32_t others) const {
    return degrees[static_cast<size_t>(others) * devices + count - 1];
  }
  int64_t latency(int32_t count) const {
    return count <= largestServer ? least : acrossServers;
  }

  int32_t devices, largestServer = 0;
  int64_t least = 0, acrossServers = 0;
  /// How many there are, where every device has one; else 0.
  int64_t nics = 0;
  /// By number of devices: the highest rate that leaves so many connected.
  std::vector<int64_t> connected;
  /// [others * devices + k]: of all devices' rates to their `others`-th best
  /// partner, the k-th highest.
  std::vector<int64_t> degrees;
  /// ChainProblem::speedPercent, the fastest first.
  std::vector<int64_t> speeds;
  double allSpeeds = 0;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_BESTLINKS_H
