//===- MinMaxProgram.h - Plans of the least workload ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H
#define RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H

#include "planning/chain/PlanTimer.h"

#include <optional>

namespace rondo {

/// What the dynamic program makes least.
struct WorkloadRule {
  /// How often a boundary's slower direction counts per micro-batch: 2 where one
  /// channel carries both directions.
  int64_t messagesPerMicrobatch = 2;
  /// Only plans whose memory fits count, as PlanTimer::memoryBytes() has it.
  bool keepsMemory = false;
};

/// SPP's dynamic program over an order of devices: for every number of stages
/// and of devices of the last one, the plan whose largest workload is least.
/// A stage's workload is M (F + B) and its all-reduce, a boundary's M times its
/// messages. Stages take consecutive devices of the order, all of it.
/// O(stages * layers^2 * devices^3).
class MinMaxProgram {
public:
  MinMaxProgram(const ChainProblem &problem, const std::vector<int32_t> &order,
                WorkloadRule rule, int32_t mostStages);

  int32_t mostStages() const { return stages; }
  /// The least workload of all layers in `stages` stages, the last of which has
  /// `devices` devices; PlanTimer::never if there is no such plan.
  int64_t workload(int32_t stages, int32_t devices) const;
  /// Its plan. There must be one.
  ChainPlan plan(int32_t stages, int32_t devices) const;

private:
  struct Choice {
    int16_t layers = 0, devices = 0;
  };
  size_t at(int32_t x, int32_t layers, int32_t r, int32_t used) const {
    return ((static_cast<size_t>(x - 1) * (L + 1) + layers) * (G + 1) + r) *
               (G + 1) +
           used;
  }
  void measureGroups();
  void fill();
  int64_t stageWork(int32_t first, int32_t end, int32_t r, int32_t used) const;

  const ChainProblem &problem;
  const std::vector<int32_t> order;
  const WorkloadRule rule;
  const LayerSums sums;
  const int32_t L, G, stages;
  /// By [used][r], the group of r devices before `used`: the lowest rate and
  /// the largest latency within; by [used][r][r'], to the group before it.
  std::vector<int64_t> rateWithin, latencyWithin, rateAcross, latencyAcross;
  std::vector<int64_t> least;
  std::vector<Choice> choices;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H
