//===- ModelBaselines.h - Published planners on a model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELBASELINES_H
#define RONDO_PLANNING_MODEL_MODELBASELINES_H

#include "planning/chain/Baselines.h"
#include "planning/model/ModelPlanner.h"

namespace rondo {

/// What a published planner makes of a model, under 1F1B.
struct ModelBaseline {
  const Baseline *baseline = nullptr;
  /// The fastest of all sizes of micro-batches that fits; without a schedule
  /// where none does, and then the one that lacks least memory, if any.
  std::optional<PlanTrial> best;
  /// Time ended before every size was tried.
  bool isCutShort = true;
};

/// Runs all baselines, in the order of their table, for every size of
/// micro-batches that `options` allow. What does not fit is tried again with
/// all blocks recomputed. Takes at most what is left of the deadline.
std::vector<ModelBaseline>
runModelBaselines(const ModelSpace &space, const ModelPlannerOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELBASELINES_H
