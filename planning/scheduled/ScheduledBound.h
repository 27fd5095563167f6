//===- ScheduledBound.h - Bound of all plans and orders ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H
#define RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H

#include "planning/chain/BoundProgram.h"
#include "planning/chain/CostToGo.h"

namespace rondo {

/// A lower bound of the time of all orders of all plans of a problem, as
/// PlanProblem.h times them (BoundProgram). A plan takes at most T only if for
/// each stage, with M micro-batches,
///
///   path to it, M (F + B), and its sum of gradients                  <= T
///   path to it, F, the least path after it and back, M B, and its
///     sum of gradients                                               <= T
///   path to it and back from it, and M (F + I)                       <= T
///   path to it and back from it, F, the least path after it and
///     back, and M I                                                  <= T
///   path over the boundary before it and all after it, and M - 1
///     more messages on one of its links                              <= T
///
/// The path to a stage is that of one micro-batch; the path back is that of its
/// gradient, which ends with W and the sum of the first stage. W may run after
/// a stage's last I, so only F and I precede all of the path back. Messages are
/// those between the first replicas of two stages: they carry one share of the
/// stage with more replicas, which is the largest message between any two
/// replicas. A message is assumed to have the best link of all, and a sum the
/// best link of any group of its size. Ignores memory and NICs.
class ScheduledBound {
public:
  explicit ScheduledBound(const ChainProblem &problem);

  /// The bound, at most `knownNs`, the time of a known plan. `isOver` may end
  /// the calculation early, with a weaker bound. See BoundProgram::find().
  int64_t find(int64_t knownNs, const std::function<bool()> &isOver) {
    return program.find(*this, problem.microbatches * rest.longestNs(0, G), 0,
                        knownNs, isOver);
  }
  /// See BoundProgram::mayTake().
  bool mayTake(int64_t ns, const std::function<bool()> &isOver) {
    return program.mayTake(*this, ns, isOver);
  }

private:
  friend class BoundProgram;

  std::optional<PathNs> afterStage(const BoundStage &stage,
                                   const PathNs &before, int64_t ns) const;
  std::optional<PathNs> afterMessage(int32_t layer, int32_t from, int32_t to,
                                     const PathNs &before, int64_t ns) const;
  bool isTooLong(const BoundStage &stage, const PathNs &before,
                 int64_t ns) const;
  /// Time for which a message occupies its link; messageNs(): time until it
  /// arrives.
  int64_t occupancyNs(int32_t layer, int32_t from, int32_t to) const;
  int64_t messageNs(int32_t layer, int32_t from, int32_t to) const {
    return latencyNs + occupancyNs(layer, from, to);
  }
  int64_t pathAfterNs(int32_t layer, int32_t range) const {
    return after[static_cast<size_t>(layer) * sizes.count() + range];
  }

  const ChainProblem &problem;
  const ChainCosts costs;
  const CostToGo rest;
  const GroupSizes &sizes;
  const int32_t L, G;
  /// The speed of the fastest device: a sample's path may avoid the slower
  /// devices of a stage.
  const int64_t fastest;
  /// The best link of any two devices.
  int64_t latencyNs = 0, rate = 1;
  /// leastPaths() with F and I, without W.
  std::vector<int64_t> after;
  BoundProgram program;
};

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_SCHEDULEDBOUND_H
