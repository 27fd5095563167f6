//===- ScheduledBound.h - No plan and no order takes less -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H
#define RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H

#include "planning/chain/CostToGo.h"

#include <functional>

namespace rondo {

/// A lower bound of the time of all orders of all plans of a problem, as
/// PlanProblem.h times them. A dynamic program over layers, devices used and
/// devices of the last stage finds out whether there may be a plan within a
/// time T: one where for each stage, with M micro-batches,
///
///   the way to it, M (F + B), and its sum of gradients              <= T
///   the way to it, F, the least way behind it and back, M B,
///     and its sum of gradients                                      <= T
///   the way to it and back from it, and M (F + I)                   <= T
///   the way to it and back from it, F, the least way behind it and
///     back, and M I                                                 <= T
///   the way over the boundary in front of it and all behind it, and
///     M - 1 more messages on one of its links                       <= T
///
/// The way to a stage is that of one micro-batch; the way back is that of its
/// gradient, which ends with W and the sum of the first stage. W may run after
/// a stage's last I, so only F and I precede all of the way back. Of a message,
/// the first replicas of two stages exchange as much as any two: one share of
/// the stage with more replicas. It is taken to have the best link that there
/// is, and a sum the best that a group of its size can have. Memory and NICs
/// are not looked at.
class ScheduledBound {
public:
  explicit ScheduledBound(const ChainProblem &problem);

  /// The bound, at most `knownNs`, the time of a known plan. `isOver` may end
  /// the calculation early, with a weaker bound. O(layers^2 * devices^3) a step
  /// at worst, for about 12 steps.
  int64_t find(int64_t knownNs, const std::function<bool()> &isOver);
  /// Whether there may be a plan that takes `ns`; also true if `isOver`.
  bool mayTake(int64_t ns, const std::function<bool()> &isOver);

private:
  static constexpr int64_t never = CostToGo::never;

  /// Least times of a micro-batch, in ns: to the end of a stage's F, and that
  /// with the way back.
  struct Way {
    int64_t both = never, there = never;
  };
  struct Stage {
    int32_t first, end;
    /// How many devices it has, as a range of GroupSizes, and how many those
    /// before it have at least.
    int32_t range, used;
  };
  size_t at(int32_t layers, int32_t used, int32_t range) const {
    return (static_cast<size_t>(layers) * (G / step + 1) + used / step) * K +
           range;
  }
  /// What holds a link, and the whole message.
  int64_t occupancyNs(int32_t layer, int32_t from, int32_t to) const;
  int64_t messageNs(int32_t layer, int32_t from, int32_t to) const {
    return latencyNs + occupancyNs(layer, from, to);
  }
  int64_t wayBehindNs(int32_t layer, int32_t range) const {
    return behind[static_cast<size_t>(layer) * K + range];
  }
  int64_t sumNs(int32_t first, int32_t end, int32_t range) const;
  void findWaysBehind();
  void add(const Stage &stage, const Way &before, int64_t ns);
  void continueWay(int32_t layers, int32_t used, int32_t range, int64_t ns);

  const ChainProblem &problem;
  const ChainCosts costs;
  const CostToGo rest;
  const GroupSizes &sizes;
  /// Devices in use are counted in steps, rounded down.
  const int32_t L, G, K, step;
  /// The speed of the fastest device: a sample's way may miss the slower ones
  /// of a stage.
  const int64_t fastest;
  /// The best link of two devices.
  int64_t latencyNs = 0, rate = 1;
  /// [layer][range of the stage in front]: there and back, with the messages.
  std::vector<int64_t> behind;
  /// [layers][devices used][range of the last stage's devices].
  std::vector<Way> ways;
};

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H
