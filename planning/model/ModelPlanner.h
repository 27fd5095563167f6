//===- ModelPlanner.h - Plans a model on a cluster --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELPLANNER_H
#define RONDO_PLANNING_MODEL_MODELPLANNER_H

#include "planning/Deadline.h"
#include "planning/model/PlanTrial.h"

#include <atomic>

namespace rondo {

/// Which layers may be recomputed.
enum class RecomputeChoice : uint8_t {
  /// As few as memory asks for.
  Auto,
  None,
  /// All that are worth a thought.
  All,
};

struct ModelPlannerOptions {
  /// Samples of a micro-batch to try, divisors of the iteration's; empty: all.
  std::vector<int64_t> microbatchSamples;
  RecomputeChoice recompute = RecomputeChoice::Auto;
  /// Stages of a group of ranks to try beside one, 2 or more; two also in a V.
  std::vector<int32_t> chunks = {2, 4};
  /// Where stages begin, if that is given (GivenCuts.h), and how many each
  /// group of ranks has, in a loop. Groups are then of equal size.
  std::vector<int32_t> begins;
  int32_t givenChunks = 1;
  uint64_t seed = 0;
  /// Work for each problem of the chain planner, in its unit; 0: as much as the
  /// deadline allows, or the default without one.
  int64_t effort = 0;
  Deadline deadline;
  /// How many of the best plans are searched for better schedules.
  int32_t searched = 2;
  const std::atomic<bool> *interrupt = nullptr;
};

struct ModelPlannerResult {
  /// Those that fit, best first, each with its schedule.
  std::vector<PlanTrial> plans;
  /// If none does: the one that lacks least memory, and otherwise any.
  std::optional<PlanTrial> nearest;
  /// Why there is no plan of some size of micro-batches, by size.
  std::vector<std::pair<int64_t, std::string>> refused;
  /// No plan of any of the sizes takes less: all ranks would work without a
  /// pause.
  int64_t lowerBoundNs = 0;
  int64_t tried = 0;
};

/// Finds plans whose compiled programs take the least time, by their own
/// simulation, and fit every device. For each size of micro-batches, with and
/// without recomputation, a chain planner proposes stages and replicas (see
/// planChain()). Families of schedules and the memory plan of the programs
/// judge what is proposed. Where a plan does not fit, the chain planner is
/// asked again with less memory. Then the best are cut into chunks, relieved of
/// recomputation where memory allows it and planned again with what is left,
/// and searched for better schedules.
ModelPlannerResult planModel(const ModelSpace &space,
                             const ModelPlannerOptions &options);

/// The sizes of micro-batches that options ask for, in samples, the most
/// promising first: all divisors of the iteration's where they name none.
std::vector<int64_t> microbatchSizes(const ModelSpace &space,
                                     const ModelPlannerOptions &options);

/// The plan of a chain planner for micro-batches of `microbatchSamples`. A
/// stage has at most `maxReplicas` ranks, 1 to `microbatchSamples`; further
/// ranks stay idle.
ModelPlan modelPlanOf(const ChainPlan &chain, int64_t microbatchSamples,
                      int64_t maxReplicas, std::vector<bool> recomputes);

/// The same groups with `chunks` stages each, cut so that the busiest rank has
/// the least work; nothing if there are too few layers or the layers do not
/// fit.
std::optional<ModelPlan> inChunks(const ModelPlan &plan,
                                  const ChainProblem &chain, int32_t chunks,
                                  bool isV);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELPLANNER_H
