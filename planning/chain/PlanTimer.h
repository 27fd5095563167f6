//===- PlanTimer.h - The time of a plan's iteration -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluators that compare planners; ChainCosts.h has the costs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_PLANTIMER_H
#define RONDO_PLANNING_CHAIN_PLANTIMER_H

#include "planning/chain/ChainCosts.h"
#include "schedule/families/SppClock.h"

namespace rondo {

enum class PlanEvaluator : uint8_t {
  /// 1F1B with a flush. Each boundary has a first-in-first-out link in each
  /// direction; a sender never waits.
  OneFOneB,
  /// SPP's execution order, as in family `spp` (SppClock.h): list scheduling by
  /// cycles. A boundary has one channel for both directions, and F and B of the
  /// last stage are one block.
  Spp,
  /// Spp with a channel for each direction.
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

  /// The time of an iteration of stages with these times; `infinite` if it
  /// certainly exceeds `ceiling`. O(stages * micro-batches * log(stages)).
  int64_t run(const std::vector<StageNs> &stages, int64_t ceiling = infinite);

private:
  /// A lower bound of the time. Stops early once it exceeds `ceiling`.
  /// O(stages).
  int64_t leastNs(const std::vector<StageNs> &stages, int64_t ceiling) const;
  /// Times stage by stage as far as messages allow, which is many times as fast
  /// as processing events in order of time.
  int64_t runOneFOneB(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatest(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatestOfChannels(const std::vector<StageNs> &stages, int64_t ceiling);
  int64_t runSpp(const std::vector<StageNs> &stages, int64_t ceiling);

  /// Micro-batches.
  const int32_t M;
  const PlanEvaluator evaluator;

  /// [stage, then channel]: the latest begin of its next task.
  std::vector<int64_t> latest;

  // Scratch of runOneFOneB().
  std::vector<int64_t> clock, forwardLink, backwardLink;
  /// [stage * micro-batches + micro-batch]; negative: not arrived yet.
  std::vector<int64_t> forwardArrival, backwardArrival;
  /// [stage]: number of forwards and of backwards that have run.
  std::vector<int32_t> forwards, backwards;

  SppClock sppClock;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANTIMER_H
