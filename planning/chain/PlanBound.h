//===- PlanBound.h - No plan takes less -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_PLANBOUND_H
#define RONDO_PLANNING_CHAIN_PLANBOUND_H

#include "planning/chain/CostToGo.h"
#include "planning/chain/PlanTimer.h"

#include <functional>

namespace rondo {

/// A lower bound of the time of all plans of a problem. Every group of devices
/// is taken to have the best links that a group of its size can have
/// (BestLinks). A dynamic program over layers, devices used and devices of the
/// last stage then finds out whether there may be a plan within a time T: one
/// where for each stage
///
///   the way of a micro-batch to it and back, and M (F + B)         <= T
///   the way to it, M (F + B), and its all-reduce                   <= T
///   the way to it, F, the least way behind it and back, M B, and
///     the way back from it or its all-reduce                       <= T
///
/// and the like for boundaries. Ways are the least of all plans of the layers
/// in front. Memory is not looked at.
class PlanBound {
public:
  PlanBound(const ChainProblem &problem, PlanEvaluator evaluator,
            const CostToGo &rest);

  /// The bound, at most `knownNs`, the time of a known plan: it equals that if
  /// no plan can be better. `isOver` may end the calculation early, with a
  /// weaker bound. O(layers^2 * devices^3) a step at worst, for about
  /// 12 steps.
  int64_t find(int64_t knownNs, const std::function<bool()> &isOver);

private:
  /// Least times of a micro-batch, in ns: from the begin to the end of a
  /// stage's F and from the begin of its B to the end; and the first of the two
  /// alone.
  struct Way {
    int64_t both = PlanTimer::never, there = PlanTimer::never;
  };
  /// A stage behind a way.
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
  bool mayTake(int64_t ns, const std::function<bool()> &isOver);
  bool mayAdd(const Stage &stage, const Way &before, int64_t ns,
              Way &way) const;
  void add(const Stage &stage, const Way &before, int64_t ns);
  void continueWay(int32_t layers, int32_t used, int32_t range, int64_t ns);

  const ChainProblem &problem;
  const PlanEvaluator evaluator;
  const ChainCosts costs;
  const CostToGo &rest;
  const GroupSizes &sizes;
  /// Devices in use are counted in steps, rounded down.
  const int32_t L, G, K, step;
  /// [layers][devices used][range of the last stage's devices].
  std::vector<Way> ways;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANBOUND_H
