//===- ChainCosts.h - Costs of a stage and a boundary -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost rules that compare planners, in integers; every division rounds up.
// For a stage with layers on r devices:
//
//   F = ceil(sum of forwards / r), B = ceil(sum of backwards / r), at the speed
//     of the slowest of the devices, whose shares are equal
//   message to a stage on r' devices: the largest latency between the two sets
//     + ceil(1000 bytes x / (r r' lowest rate from one to the other)). Each of
//     the r r' pairs of devices exchanges one shard. The busiest NIC carries x
//     of them one after another; x is 1 without NICs
//   all-reduce after the last B: 0 on one device, else 2 (r - 1) latencies +
//     ceil(2 (r - 1) 1000 parameter bytes / (r lowest rate within)). This is a
//     ring, which can enter and leave each NIC once, so NICs do not count
//   memory of each device: state bytes + micro-batches in flight x
//     ceil(stash bytes / r) + ceil(working bytes / r), within the memory of the
//     smallest of them
//
// If the samples of a micro-batch are known, costs divide into whole samples: a
// share 1 / r becomes ceil(samples / r) / samples, 1 / (r r') becomes the share
// of max(r, r'), x / (r r') is rounded up to whole samples if that is more,
// inputs count as stash, and an all-reduce takes 2 latencies. These are the
// rules of Rondo's programs (SumPath::Direct), not those of the comparison.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_CHAINCOSTS_H
#define RONDO_PLANNING_CHAIN_CHAINCOSTS_H

#include "planning/chain/ChainProblem.h"
#include "schedule/model/CollectiveTime.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace rondo {

/// The link properties that determine the time of a message between two groups
/// of devices, or of a sum within one group.
struct GroupLink {
  /// The lowest rate, in bytes per us: from the first group to the second, and
  /// from the second to the first. Within a group, both are equal.
  int64_t rate = infinite, rateBack = infinite;
  /// The largest latency.
  int64_t latencyNs = 0;
  /// The number of a message's shards, one for each pair of devices of the two
  /// groups, that the busiest NIC carries one after another. Equal in both
  /// directions; 1 if no NIC is shared.
  int64_t inTurn = 1;
};

/// Element-wise slower of `a` and `b`.
GroupLink slower(const GroupLink &a, const GroupLink &b);
/// Numbers of devices of two groups.
struct GroupCounts {
  int64_t from = 0, to = 0;
};
/// Number of shards that a NIC carries one after another (GroupLink::inTurn).
/// `onNic` counts the groups' devices on the NIC, `inServer` those in its
/// server, `all` all of them.
inline int64_t piecesInTurn(GroupCounts onNic, GroupCounts inServer,
                            GroupCounts all) {
  return std::max(onNic.from * (all.to - inServer.to),
                  onNic.to * (all.from - inServer.from));
}
/// The link between two disjoint sets of devices. O(product of their sizes),
/// with NICs O(square of their sum).
GroupLink linkBetween(const ChainProblem &problem, const int32_t *from,
                      int32_t fromCount, const int32_t *to, int32_t toCount);
/// The link within a set of devices. O(count^2).
GroupLink linkWithin(const ChainProblem &problem, const int32_t *devices,
                     int32_t count);

/// Speed and memory of a group with equal shares: its slowest device determines
/// the time of a task, its smallest the memory.
struct GroupDevice {
  /// As in ChainProblem.
  int64_t speedPercent = 100, memoryLess = 0;
};
inline GroupDevice weaker(const GroupDevice &a, const GroupDevice &b) {
  return {std::min(a.speedPercent, b.speedPercent),
          std::max(a.memoryLess, b.memoryLess)};
}
inline GroupDevice deviceOf(const ChainProblem &problem, int32_t device) {
  return {problem.speedPercent.empty() ? 100 : problem.speedPercent[device],
          problem.memoryLess.empty() ? 0 : problem.memoryLess[device]};
}
/// Element-wise weakest of one or more devices.
GroupDevice weakestOf(const ChainProblem &problem, const int32_t *devices,
                      int32_t count);

/// Times of a stage, and of the boundary after it, in ns.
struct StageNs {
  int64_t forward = 0, backward = 0, allReduce = 0;
  /// Time of a message to the next stage, and of the gradient back; 0 for the
  /// last stage.
  int64_t send = 0, sendBack = 0;
};

/// Times and bytes of layers [first, end). Constant time per query, from prefix
/// sums.
class ChainCosts {
public:
  explicit ChainCosts(const ChainProblem &problem);

  int64_t forwardNs(int32_t first, int32_t end, int32_t devices = 1,
                    int64_t speedPercent = 100) const {
    return timeOf(sums[end].forwardNs - sums[first].forwardNs, devices,
                  speedPercent);
  }
  int64_t backwardNs(int32_t first, int32_t end, int32_t devices = 1,
                     int64_t speedPercent = 100) const {
    return timeOf(sums[end].backwardNs - sums[first].backwardNs, devices,
                  speedPercent);
  }
  /// The part of the backward that computes weight gradients; inputGradNs() is
  /// the rest.
  int64_t weightGradNs(int32_t first, int32_t end, int32_t devices = 1) const {
    return shareOf(sums[end].weightGradNs - sums[first].weightGradNs, devices);
  }
  int64_t inputGradNs(int32_t first, int32_t end, int32_t devices = 1,
                      int64_t speedPercent = 100) const {
    return timeOf((sums[end].backwardNs - sums[end].weightGradNs) -
                      (sums[first].backwardNs - sums[first].weightGradNs),
                  devices, speedPercent);
  }
  int64_t stashBytes(int32_t first, int32_t end, int32_t devices = 1) const {
    return shareOf(stashOf(first, end), devices);
  }
  int64_t workingBytes(int32_t first, int32_t end, int32_t devices = 1) const {
    return shareOf(sums[end].workingBytes - sums[first].workingBytes, devices);
  }
  int64_t stateBytes(int32_t first, int32_t end) const {
    return sums[end].stateBytes - sums[first].stateBytes;
  }
  int64_t parameterBytes(int32_t first, int32_t end) const {
    return sums[end].parameterBytes - sums[first].parameterBytes;
  }
  /// Bytes that the boundary before a layer carries in each direction.
  int64_t boundaryBytes(int32_t layer) const { return sums[layer].outputBytes; }
  int64_t allReduceNs(int32_t first, int32_t end, int32_t devices,
                      const GroupLink &within) const;
  /// The time of a message at the boundary before a layer, at a link's `rate`
  /// or `rateBack`, between groups of `from` and `to` devices; `inTurn` as in
  /// GroupLink.
  int64_t messageNs(int32_t layer, int64_t from, int64_t to, int64_t rate,
                    int64_t latencyNs, int64_t inTurn = 1) const {
    const __int128 bytes = __int128(1000) * boundaryBytes(layer);
    return latencyNs +
           (samples == 0 ? ceilDivided(bytes * inTurn, from * to * rate)
                         : ceilDivided(bytes * samplesInTurn(from, to, inTurn),
                                       samples * rate));
  }
  /// The share of a micro-batch that each of `devices` devices takes, 0 to 1;
  /// in whole samples if their number is known.
  double share(int64_t devices) const {
    return samples == 0 ? 1. / static_cast<double>(devices)
                        : static_cast<double>(samplesOfEach(devices)) /
                              static_cast<double>(samples);
  }
  /// The share of a message that determines its time, if `inTurn` shards go one
  /// after another.
  double messageShare(int64_t from, int64_t to, int64_t inTurn) const {
    return samples == 0
               ? static_cast<double>(inTurn) / static_cast<double>(from * to)
               : static_cast<double>(samplesInTurn(from, to, inTurn)) /
                     static_cast<double>(samples);
  }
  /// Bytes on each device of a stage; `behind`: the number of later stages.
  /// 1F1B has `behind` + 1 micro-batches in flight.
  int64_t memoryBytes(int32_t first, int32_t end, int32_t devices,
                      int32_t behind) const {
    return stateBytes(first, end) +
           std::min(microbatches, behind + 1) *
               stashBytes(first, end, devices) +
           workingBytes(first, end, devices);
  }
  /// The fewest devices with which each needs at most `bytes`; nothing if no
  /// number is enough.
  std::optional<int64_t> devicesFor(int32_t first, int32_t end, int32_t behind,
                                    int64_t bytes) const;

private:
  static int64_t ceilDivided(__int128 dividend, int64_t divisor);
  int64_t samplesOfEach(int64_t devices) const {
    return (samples + devices - 1) / devices;
  }
  int64_t samplesInTurn(int64_t from, int64_t to, int64_t inTurn) const {
    const int64_t ofPair = samplesOfEach(std::max(from, to));
    return inTurn == 1
               ? ofPair
               : std::max(ofPair,
                          ceilDivided(__int128(samples) * inTurn, from * to));
  }
  int64_t shareOf(int64_t sum, int32_t devices) const {
    return samples == 0
               ? ceilDivided(sum, devices)
               : ceilDivided(__int128(sum) * samplesOfEach(devices), samples);
  }
  int64_t timeOf(int64_t sum, int32_t devices, int64_t speedPercent) const {
    if (speedPercent == 100)
      return shareOf(sum, devices);
    const __int128 time = __int128(sum) * 100;
    return samples == 0 ? ceilDivided(time, devices * speedPercent)
                        : ceilDivided(time * samplesOfEach(devices),
                                      samples * speedPercent);
  }
  int64_t stashOf(int32_t first, int32_t end) const {
    return sums[end].stashBytes - sums[first].stashBytes +
           (samples == 0 ? 0 : boundaryBytes(first));
  }

  int64_t samples;
  int32_t microbatches;
  /// [layer]: sums over the layers before it; `outputBytes` is that of the
  /// layer before, not a sum.
  std::vector<ChainLayer> sums;
};

inline int64_t ChainCosts::ceilDivided(__int128 dividend, int64_t divisor) {
  // A division of 128 bits is slow, and most dividends are small.
  if (dividend <= std::numeric_limits<int64_t>::max() - divisor)
    return (static_cast<int64_t>(dividend) + divisor - 1) / divisor;
  return static_cast<int64_t>((dividend + divisor - 1) / divisor);
}

inline int64_t ChainCosts::allReduceNs(int32_t first, int32_t end,
                                       int32_t devices,
                                       const GroupLink &within) const {
  return sumNs(parameterBytes(first, end), devices,
               {within.latencyNs, within.rate},
               samples == 0 ? SumPath::Ring : SumPath::Direct);
}

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_CHAINCOSTS_H
