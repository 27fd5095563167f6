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
  /// As few as memory allows.
  Auto,
  None,
  /// All for which recomputation is worthwhile (ModelSpace::mayRecompute).
  All,
};

struct ModelPlannerOptions {
  /// Sizes of micro-batches to try, in samples. Each must divide the samples of
  /// an iteration; empty: all divisors.
  std::vector<int64_t> microbatchSamples;
  RecomputeChoice recompute = RecomputeChoice::Auto;
  /// Whether activations may be copied to the host (ModelSpace::mayOffload).
  bool mayOffload = true;
  /// Numbers of stages per group of ranks to try, each 2 or more, in addition
  /// to one stage. Two stages are tried in a loop and in a V.
  std::vector<int32_t> chunks = {2, 4};
  /// The first layer of each stage, if given (GivenCuts.h), and the number of
  /// stages per group of ranks, in a loop. Groups are then of equal size.
  std::vector<int32_t> begins;
  int32_t givenChunks = 1;
  uint64_t seed = 0;
  /// Effort for each problem of the chain planner, in its unit; 0: no limit but
  /// the deadline, or the default without a deadline.
  int64_t effort = 0;
  Deadline deadline;
  /// Number of the best plans for which better schedules are searched.
  int32_t searched = 2;
  const std::atomic<bool> *interrupt = nullptr;
};

struct ModelPlannerResult {
  /// Plans that fit, best first, each with its schedule.
  std::vector<PlanTrial> plans;
  /// If no plan fits: the one that lacks the least memory, or any if memory is
  /// not the reason.
  std::optional<PlanTrial> nearest;
  /// (size of micro-batches in samples, why it has no plan).
  std::vector<std::pair<int64_t, std::string>> refused;
  /// A lower bound for plans of all sizes: all ranks work without a pause, or
  /// with the recomputation that memory forces (MemoryBound).
  int64_t lowerBoundNs = 0;
  bool boundCountsRecomputation = false;
  int64_t tried = 0;
};

/// Finds plans whose compiled programs fit every device and take the least
/// simulated time. For each size of micro-batches, with and without
/// recomputation, a chain planner proposes stages and replicas (planChain()).
/// Families of schedules and the memory plan of the programs evaluate the
/// proposals. If a plan does not fit, the chain planner runs again with less
/// memory. Then cuts the best plans into chunks, removes recomputation where
/// memory allows it and plans again with the rest, and searches better
/// schedules. If activations may be copied to the host, does so for plans that
/// copy instead of recomputing, and for plans that do both. If the best plan
/// recomputes, also tries zigzags (Zigzag.h).
ModelPlannerResult planModel(const ModelSpace &space,
                             const ModelPlannerOptions &options);

/// The sizes of micro-batches to try, in samples, the most promising first:
/// those of `options`, or all divisors of the iteration's samples.
std::vector<int64_t> microbatchSizes(const ModelSpace &space,
                                     const ModelPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELPLANNER_H
