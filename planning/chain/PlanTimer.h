//===- PlanTimer.h - How long a plan's iteration takes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluators by which planners are compared, in integers, every division
// rounded up. For a stage with layers on r devices:
//
//   F = ceil(sum of forwards / r), B = ceil(sum of backwards / r)
//   message to a stage on r' devices: the largest latency between the two sets
//     + ceil(1000 bytes / (r r' lowest rate from one to the other))
//   all-reduce behind the last B: 0 on one device, else 2 (r - 1) latencies +
//     ceil(2 (r - 1) 1000 parameter bytes / (r lowest rate within))
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_PLANTIMER_H
#define RONDO_PLANNING_CHAIN_PLANTIMER_H

#include "planning/chain/ChainProblem.h"

#include <limits>
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

/// Times of a plan's stages and boundaries, in ns.
struct StageNs {
  int64_t forward = 0, backward = 0, allReduce = 0;
  /// To the next stage, and of the gradient back from it.
  int64_t send = 0, sendBack = 0;
};

/// Sums over layers, so that a stage's figures take no time in their number.
class LayerSums {
public:
  explicit LayerSums(const ChainProblem &problem);

  int64_t forwardNs(int32_t first, int32_t end) const {
    return sums[end].forwardNs - sums[first].forwardNs;
  }
  int64_t backwardNs(int32_t first, int32_t end) const {
    return sums[end].backwardNs - sums[first].backwardNs;
  }
  int64_t stashBytes(int32_t first, int32_t end) const {
    return sums[end].stashBytes - sums[first].stashBytes;
  }
  int64_t parameterBytes(int32_t first, int32_t end) const {
    return sums[end].parameterBytes - sums[first].parameterBytes;
  }

private:
  /// By layer: those before it.
  std::vector<ChainLayer> sums;
};

/// Times plans of one problem repeatedly without allocating.
class PlanTimer {
public:
  PlanTimer(const ChainProblem &problem, PlanEvaluator evaluator);

  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  /// The time of an iteration; `never` if some stage or boundary alone takes
  /// longer than `ceiling`. O(devices^2 + stages * micro-batches *
  /// log(stages)).
  int64_t run(const ChainPlan &plan, int64_t ceiling = never);
  /// What the fullest device holds: its state, and the activations of as many
  /// micro-batches as 1F1B has under way in its stage.
  int64_t memoryBytes(const ChainPlan &plan) const;
  /// Of the last run.
  const std::vector<StageNs> &stageTimes() const { return stages; }

private:
  void setTimes(const ChainPlan &plan);
  int64_t runOneFOneB();
  int64_t runSpp();
  /// A position of a micro-batch's way: F, messages and B of all stages.
  struct Step {
    int32_t resource = 0;
    int64_t ns = 0;
    /// Micro-batches that may run it, and those that have begun.
    int32_t ready = 0, begun = 0;
  };
  void begin(int32_t resource, int64_t now);

  const ChainProblem &problem;
  const PlanEvaluator evaluator;
  const LayerSums sums;
  std::vector<StageNs> stages;

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
