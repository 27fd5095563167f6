//===- ModelBound.h - A lower bound of plans of a model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELBOUND_H
#define RONDO_PLANNING_MODEL_MODELBOUND_H

#include "planning/model/ModelPlanner.h"

#include <optional>

namespace rondo {

struct ModelBound {
  int64_t ns = 0;
  /// Whether it counts what memory forces (MemoryBound): recomputation, or
  /// copies where these are possible;
  /// otherwise all ranks work without a pause.
  bool countsRecomputation = false;
};

/// A lower bound of the time of an iteration, for plans of all sizes of
/// micro-batches that may be tried. `knownNs`: the time of a plan, if any is
/// known; without one the bound does not count recomputation.
ModelBound boundOf(const ModelSpace &space, const ModelPlannerOptions &options,
                   std::optional<int64_t> knownNs);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELBOUND_H
