//===- PlanBound.h - A lower bound for all plans ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_PLANBOUND_H
#define RONDO_PLANNING_CHAIN_PLANBOUND_H

#include "planning/chain/BoundProgram.h"
#include "planning/chain/CostToGo.h"
#include "planning/chain/PlanTimer.h"

namespace rondo {

/// A lower bound of the time of all plans of a problem (BoundProgram). Assumes
/// for every group of devices the best links of any group of its size
/// (BestLinks). A plan takes at most T only if for each stage, with M
/// micro-batches,
///
///   path there and back through it, with M (F + B) in it           <= T
///   path to it, M (F + B), and its all-reduce                       <= T
///   path to it, F, the least path after it and back, M B, and the
///     path back from it or its all-reduce                           <= T
///
/// and the same for boundaries. Ignores memory.
class PlanBound {
public:
  PlanBound(const ChainProblem &problem, PlanEvaluator evaluator,
            const CostToGo &rest);

  /// The bound, at most `knownNs`, the time of a known plan; equal to it if no
  /// plan can be better. `isOver` may end the calculation early, with a weaker
  /// bound. See BoundProgram::find().
  int64_t find(int64_t knownNs, const std::function<bool()> &isOver);

private:
  friend class BoundProgram;

  std::optional<PathNs> afterStage(const BoundStage &stage,
                                   const PathNs &before, int64_t ns) const;
  std::optional<PathNs> afterMessage(int32_t layer, int32_t from, int32_t to,
                                     const PathNs &before, int64_t ns) const;
  bool isTooLong(const BoundStage &stage, const PathNs &before,
                 int64_t ns) const;

  const ChainProblem &problem;
  const PlanEvaluator evaluator;
  const ChainCosts costs;
  const CostToGo &rest;
  const GroupSizes &sizes;
  const int32_t L, G;
  /// Speed of the fastest device, in percent.
  const int64_t fastest;
  BoundProgram program;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANBOUND_H
