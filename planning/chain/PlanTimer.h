//===- PlanTimer.h - How long a plan's iteration takes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluators by which planners are compared; ChainCosts.h has the costs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_PLANTIMER_H
#define RONDO_PLANNING_CHAIN_PLANTIMER_H

#include "planning/chain/ChainCosts.h"
#include "schedule/families/SppClock.h"

namespace rondo {

enum class PlanEvaluator : uint8_t {
  /// 1F1B with a flush. A link for each direction and boundary, first in first
  /// out; a sender never waits.
  OneFOneB,
  /// SPP's execution order, as family `spp` has it (SppClock.h): list
  /// scheduling by cycles, where a boundary has one channel for both
  /// directions, and F and B of the last stage are one block.
  Spp,
  /// The same with a channel for each direction.
  SppFullDuplex,
};
inline constexpr int numPlanEvaluators = 3;
/// `1f1b`, `spp`, `spp-full-duplex`.
const char *nameOf(PlanEvaluator evaluator);

/// Times plans of one problem repeatedly without allocating.
class PlanTimer {
public:
  PlanTimer(const ChainProblem &problem, PlanEvaluator evaluator)
      : M(problem.microbatches), evaluator(evaluator),
        sppClock(M, evaluator == PlanEvaluator::SppFullDuplex
                        ? SppClock::Duplex::Full
                        : SppClock::Duplex::Half) {}

  /// The time of an iteration of stages with these times; `infinite` if it is
  /// sure to be above `ceiling`. O(stages * micro-batches * log(stages)).
  int64_t run(const std::vector<StageNs> &stages, int64_t ceiling = infinite);

private:
  /// A lower bound of the time; where it is above `ceiling`, perhaps not the
  /// largest known. O(stages).
  int64_t leastNs(const std::vector<StageNs> &stages, int64_t ceiling) const;
  /// Stage by stage as far as messages allow: the planner's usual evaluator,
  /// many times as fast as events in the order of time.
  int64_t runOneFOneB(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatest(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatestOfChannels(const std::vector<StageNs> &stages, int64_t ceiling);
  int64_t runSpp(const std::vector<StageNs> &stages, int64_t ceiling);

  /// Micro-batches.
  const int32_t M;
  const PlanEvaluator evaluator;

  /// By stage, then channel: when its next task must begin.
  std::vector<int64_t> latest;

  // 1F1B.
  std::vector<int64_t> clock, forwardLink, backwardLink;
  /// [stage * micro-batches + micro-batch]; below 0: not yet.
  std::vector<int64_t> forwardArrival, backwardArrival;
  /// By stage: how many have run.
  std::vector<int32_t> forwards, backwards;

  SppClock sppClock;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANTIMER_H
