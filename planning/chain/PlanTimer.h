//===- PlanTimer.h - How long a plan's iteration takes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluators by which planners are compared; ChainCosts.h has the costs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_PLANTIMER_H
#define RONDO_PLANNING_CHAIN_PLANTIMER_H

#include "planning/chain/ChainCosts.h"

#include <utility>

namespace rondo {

enum class PlanEvaluator : uint8_t {
  /// 1F1B with a flush. A link for each direction and boundary, first in first
  /// out; a sender never waits.
  OneFOneB,
  /// SPP's execution order: list scheduling by cycles, where a boundary has one
  /// channel for both directions, and F and B of the last stage are one block.
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
      : M(problem.microbatches), evaluator(evaluator) {}

  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  /// The time of an iteration of stages with these times; `never` if it is sure
  /// to be above `ceiling`. O(stages * micro-batches * log(stages)).
  int64_t run(const std::vector<StageNs> &stages, int64_t ceiling = never);

private:
  /// A lower bound of the time; where it is above `ceiling`, perhaps not the
  /// largest known. O(stages).
  int64_t leastNs(const std::vector<StageNs> &stages, int64_t ceiling) const;
  int64_t runOneFOneB(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatest(const std::vector<StageNs> &stages, int64_t ceiling);
  void setLatestOfChannels(const std::vector<StageNs> &stages, int64_t ceiling);
  int64_t runSpp(const std::vector<StageNs> &stages, int64_t ceiling);
  /// A position of a micro-batch's way: F, messages and B of all stages.
  struct Step {
    int32_t resource = 0;
    int64_t ns = 0;
    /// Micro-batches that may run it, and those that have begun.
    int32_t ready = 0, begun = 0;
  };
  bool begin(int32_t resource, int64_t now);

  /// Micro-batches.
  const int32_t M;
  const PlanEvaluator evaluator;

  /// By stage, then channel: when its next task must begin.
  std::vector<int64_t> latest;

  // 1F1B.
  std::vector<int64_t> clock, forwardLink, backwardLink;
  /// [stage * micro-batches + micro-batch]; below 0: not yet.
  std::vector<int64_t> forwardArrival, backwardArrival;
  std::vector<int32_t> position;

  // SPP.
  std::vector<Step> steps;
  /// By resource: its steps, the second -1 if it has one only; and whether it
  /// runs.
  std::vector<std::pair<int32_t, int32_t>> stepsOf;
  std::vector<bool> isBusy;
  struct Event {
    int64_t ns;
    int32_t resource, step;
  };
  /// A heap, earliest first.
  std::vector<Event> events;
  std::vector<int64_t> lastBackward;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANTIMER_H
