//===- BestLinks.h - Best links of groups of devices ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_BESTLINKS_H
#define RONDO_PLANNING_CHAIN_BESTLINKS_H

#include "planning/chain/ChainCosts.h"

#include <algorithm>

namespace rondo {

/// Upper bounds of the rates of links and the speeds of devices of groups, by
/// size, whichever devices they consist of. Used by lower bounds.
class BestLinks {
public:
  /// O(devices^2 log devices).
  explicit BestLinks(const ChainProblem &problem);

  /// Upper bound of the slowest link in any group of `devices` devices, 2 or
  /// more.
  GroupLink within(int32_t devices) const {
    const int64_t rate =
        std::min(connected[devices], degree(devices, devices - 1));
    return {rate, rate, latency(devices)};
  }
  /// Upper bound of the speed in percent of the slowest device in any group of
  /// `devices` devices, 1 or more (ChainProblem::speedPercent).
  int64_t speedPercent(int32_t devices) const {
    return speeds.empty() ? 100 : speeds[devices - 1];
  }
  /// Total compute of all devices, in devices of speed 100.
  double allDevices() const { return allSpeeds; }
  /// Upper bound of the lowest rate, in the better direction, between a group
  /// of `from` devices and one of `to` devices.
  int64_t rateAcross(int32_t from, int32_t to) const {
    return std::min({connected[from + to], degree(from, to), degree(to, from)});
  }
  int64_t latencyAcross(int32_t from, int32_t to) const {
    return latency(from + to);
  }
  /// The fewest shards of a message between two groups that the busiest NIC
  /// carries one after another (GroupLink::inTurn). Some NIC has at least an
  /// equal part of a group, and its server holds a limited number of devices of
  /// the other group.
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
  /// The highest rate that `count` devices can each have to `others` other
  /// devices.
  int64_t degree(int32_t count, int32_t others) const {
    return degrees[static_cast<size_t>(others) * devices + count - 1];
  }
  int64_t latency(int32_t count) const {
    return count <= largestServer ? least : acrossServers;
  }

  int32_t devices, largestServer = 0;
  int64_t least = 0, acrossServers = 0;
  /// The number of NICs if every device has one, else 0.
  int64_t nics = 0;
  /// [number of devices]: the highest rate for which pairs of at least that
  /// rate connect this many devices.
  std::vector<int64_t> connected;
  /// [others * devices + k]: the k-th highest rate of a device to its
  /// `others`-th best partner.
  std::vector<int64_t> degrees;
  /// ChainProblem::speedPercent, in descending order.
  std::vector<int64_t> speeds;
  double allSpeeds = 0;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_BESTLINKS_H
