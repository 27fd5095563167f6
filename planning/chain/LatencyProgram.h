//===- LatencyProgram.h - Plans of the least path latency -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H
#define RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H

#include "planning/chain/OrderedGroups.h"
#include "planning/chain/PlanTimer.h"

#include <algorithm>
#include <limits>

namespace rondo {

/// A dynamic program over an order of devices, similar to Alpa's. An iteration
/// takes the path latency of one micro-batch through all stages and back, plus
/// a steady time that its slowest stage or boundary determines. Of all plans
/// whose steady time is at most a limit, finds those with the least path
/// latency. Alpa has one period for all stages. Here a stage may be slower if
/// the path after it is longer, since its forwards run while it waits for the
/// first backward. Memory is that of 1F1B. Sums of gradients count unless
/// backwards of earlier stages hide them. Stages take consecutive units of the
/// order, up to its end; units at its beginning may stay idle.
class LatencyProgram {
public:
  /// `cuts`: the layers at which stages may end, ascending, from 0 to the
  /// number of layers.
  LatencyProgram(const ChainProblem &problem, const OrderedGroups &groups,
                 PlanEvaluator evaluator, std::vector<int32_t> cuts);

  struct Limits {
    /// Maximum time of an iteration beyond the path latency of one micro-batch.
    double steadyNs = 0;
    /// Maximum estimate of a plan's time.
    double timeNs = 0;
  };
  /// The `most` plans with the least estimates, in ascending order; at most one
  /// for each number of idle units and of units of the first stage. O(cuts^2 *
  /// units^3) at worst; much less with tight limits.
  std::vector<ChainPlan> solve(const Limits &limits, int32_t most);

private:
  /// The best plan of the layers from a cut on.
  struct Rest {
    /// `length`: path latency of a micro-batch through these layers and back,
    /// plus the expected time of sums; `way`: the path latency alone; `steady`:
    /// the iteration's time beyond the path latency; `late`: time from the end
    /// of the first stage's last backward until all sums of these layers have
    /// ended.
    double length = std::numeric_limits<double>::infinity(), way = length,
           steady = 0, late = 0;
    int16_t nextCut = 0, nextUnits = 0, stages = 0;

    /// `others` stages follow, the first of them from `cut` on and on `units`
    /// units.
    void setNext(int32_t cut, int32_t units, int32_t others) {
      nextCut = static_cast<int16_t>(cut);
      nextUnits = static_cast<int16_t>(units);
      stages = static_cast<int16_t>(others + 1);
    }
  };
  /// StageNs without rounding.
  struct Part {
    double forward, backward, send = 0, sendBack = 0;
  };

  size_t at(int32_t cut, int32_t first, int32_t count) const {
    return (static_cast<size_t>(cut) * (U + 1) + first) * (U + 1) + count;
  }
  double steadyNs(const Part &part, double below, int32_t stages) const;
  /// Whether a stage on units [first, end) has enough memory as the first of
  /// `stages` stages.
  bool fits(int32_t cut, int32_t next, int32_t first, int32_t end,
            int32_t stages) const;
  /// The layers between two cuts, on one device.
  struct Layers {
    int32_t cut, next;
    double forward, backward;
    /// Time of the backwards of earlier layers, during which sums of gradients
    /// are hidden.
    double backwardsBefore;
    /// Bytes of the boundary after them, times 1,000; 0 after the last layer.
    double milliBytes;
  };
  /// Layers on units [first, end).
  struct Stage {
    const Layers &layers;
    int32_t first, end;
    Part part;
    double allReduce;
    /// Time of the backwards of earlier stages, during which the stage's sum is
    /// hidden.
    double hidden;

    double lengthOf(double way, double late) const {
      return way + std::max(0., late - hidden);
    }
  };
  void extend(const Layers &layers, const Limits &limits);
  /// `share`: of a micro-batch, on each device of the units.
  void addStage(const Layers &layers, int32_t first, int32_t end, double share,
                const Limits &limits);
  void addLast(const Stage &stage, const Limits &limits);
  void addBefore(const Stage &stage, const Limits &limits);
  ChainPlan planFrom(int32_t first, int32_t count) const;

  const ChainProblem &problem;
  const OrderedGroups &groups;
  const PlanEvaluator evaluator;
  const std::vector<int32_t> cuts;
  const ChainCosts costs;
  const int32_t C, U;
  /// Time on the fastest device of work that takes 1 at speed 100; at most 1.
  double fastest = 1;
  /// [cut][first unit][units of the first stage]: the best plan of the layers
  /// after the cut.
  std::vector<Rest> rest;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_LATENCYPROGRAM_H
