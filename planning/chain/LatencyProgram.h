//===- LatencyProgram.h - Plans of the shortest way -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H
#define RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H

#include "planning/chain/OrderedGroups.h"
#include "planning/chain/PlanTimer.h"

#include <algorithm>
#include <limits>

namespace rondo {

/// A dynamic program over an order of devices, of Alpa's kind: an iteration
/// takes the way of one micro-batch through all stages and back, and some time
/// more, which its slowest stage or boundary says. Of all plans where that time
/// is at most a given one, this finds those with the shortest way. Alpa has one
/// period for all stages; here a stage may take the longer, the longer the way
/// behind it is, since its forwards run while it waits for the first backward.
/// Memory is that of 1F1B; sums count as far as the backwards of the stages in
/// front do not hide them. Stages take consecutive units of the order, from its
/// end on; units at its front may stay idle.
class LatencyProgram {
public:
  /// `cuts`: where stages may end, ascending, from 0 to the number of layers.
  LatencyProgram(const ChainProblem &problem, const OrderedGroups &groups,
                 PlanEvaluator evaluator, std::vector<int32_t> cuts);

  struct Limits {
    /// Of an iteration, beyond the way of one micro-batch.
    double steadyNs = 0;
    /// Plans that take longer by the estimate do not count.
    double timeNs = 0;
  };
  /// The plans of the least estimates, at most `most` of them, by estimate; one
  /// for each number of idle units and of units of the first stage.
  /// O(cuts^2 * units^3) at worst; tight limits make it much less.
  std::vector<ChainPlan> solve(const Limits &limits, int32_t most);

private:
  /// Of the layers from a cut on.
  struct Rest {
    /// The way of a micro-batch through them and back, with what their sums are
    /// expected to add to an iteration, and without; what an iteration takes
    /// beyond the way; and how much later than the last backward of the first
    /// of them their sums end.
    double length = std::numeric_limits<double>::infinity(), way = length,
           steady = 0, late = 0;
    int16_t nextCut = 0, nextUnits = 0, stages = 0;
  };
  /// StageNs, not rounded.
  struct Part {
    double forward, backward, send = 0, sendBack = 0;
  };

  size_t at(int32_t cut, int32_t first, int32_t count) const {
    return (static_cast<size_t>(cut) * (U + 1) + first) * (U + 1) + count;
  }
  double steadyNs(const Part &part, double below, int32_t stages) const;
  /// Whether a stage on units [first, end) has enough memory, as the foremost
  /// of `stages`.
  bool fits(int32_t cut, int32_t next, int32_t first, int32_t end,
            int32_t stages) const;
  /// The layers between two cuts, on one device.
  struct Layers {
    int32_t cut, next;
    double forward, backward;
    /// Of the layers in front: what hides sums.
    double backwardsBefore;
    /// Of the boundary behind them, in thousandths; 0 behind the last layer.
    double milliBytes;
  };
  /// Layers on units [first, end).
  struct Stage {
    const Layers &layers;
    int32_t first, end;
    Part part;
    double allReduce;
    /// Time of the stages in front in which a sum costs nothing.
    double hidden;

    double lengthOf(double way, double late) const {
      return way + std::max(0., late - hidden);
    }
  };
  void extend(const Layers &layers, const Limits &limits);
  void addStage(const Layers &layers, int32_t first, int32_t end,
                const Limits &limits);
  void addLast(const Stage &stage, const Limits &limits);
  void addBefore(const Stage &stage, int32_t other, const Limits &limits);
  ChainPlan planFrom(int32_t first, int32_t count) const;

  const ChainProblem &problem;
  const OrderedGroups &groups;
  const PlanEvaluator evaluator;
  const std::vector<int32_t> cuts;
  const ChainCosts costs;
  const int32_t C, U;
  /// The least of all devices' times, where the layers' are 1; not above 1.
  double fastest = 1;
  /// [cut][first unit][units of the first stage].
  std::vector<Rest> rest;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H
