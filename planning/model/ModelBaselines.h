//===- ModelBaselines.h - Published planners on a model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELBASELINES_H
#define RONDO_PLANNING_MODEL_MODELBASELINES_H

#include "planning/chain/Baselines.h"
#include "planning/model/ModelPlanner.h"

namespace rondo {

/// The result of a published planner for a model, under 1F1B.
struct ModelBaseline {
  const Baseline *baseline = nullptr;
  /// The fastest plan that fits, of all sizes of micro-batches. If none fits:
  /// the plan that lacks the least memory, if any, without a schedule.
  std::optional<PlanTrial> best;
  /// Whether time ended before every size was tried.
  bool isCutShort = true;
};

/// Runs all baselines, in the order of their table, for every size of
/// micro-batches that `options` allow. A plan that does not fit is tried again
/// with all blocks recomputed. Takes at most the rest of the deadline.
std::vector<ModelBaseline>
runModelBaselines(const ModelSpace &space, const ModelPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELBASELINES_H
