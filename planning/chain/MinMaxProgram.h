//===- MinMaxProgram.h - Plans of the least workload ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H
#define RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H

#include "planning/chain/OrderedGroups.h"

namespace rondo {

/// SPP's dynamic program over an order of devices. For every number of stages
/// and of devices of the last stage, finds the plan whose largest workload is
/// least. A stage's workload is M (F + B) and its all-reduce, a boundary's is M
/// messages in each direction over one channel. Stages take consecutive units
/// of the order, all of them. O(stages * layers^2 * units^3) at worst.
class MinMaxProgram {
public:
  /// Excludes plans with a workload above `maxWorkload`.
  MinMaxProgram(const ChainProblem &problem, const OrderedGroups &groups,
                int32_t maxStages, int64_t maxWorkload = infinite);

  int32_t maxStages() const { return most; }
  /// The least workload of all layers in `stages` stages, the last of which has
  /// `units` units; `infinite` if there is no such plan.
  int64_t workload(int32_t stages, int32_t units) const;
  /// The plan of workload(), which must be finite.
  ChainPlan plan(int32_t stages, int32_t units) const;

private:
  struct Choice {
    int16_t layers = 0, units = 0;
  };
  size_t at(int32_t stages, int32_t layers, int32_t count, int32_t used) const {
    return ((static_cast<size_t>(stages - 1) * (L + 1) + layers) * (U + 1) +
            count) *
               (U + 1) +
           used;
  }
  int64_t stageWork(int32_t first, int32_t end, int32_t count,
                    int32_t used) const;
  int64_t channelWork(int32_t layer, int32_t other, int32_t count,
                      int32_t used) const;
  void fill(int32_t stages, int32_t layers, int32_t count, int32_t used);

  const ChainProblem &problem;
  const OrderedGroups &groups;
  const ChainCosts costs;
  const int32_t L, U, most;
  const int64_t maxWorkload;
  /// [stages][layers][units of the last stage][units used]: the least workload
  /// of a plan of the first layers.
  std::vector<int64_t> least;
  std::vector<Choice> choices;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_MINMAXPROGRAM_H
