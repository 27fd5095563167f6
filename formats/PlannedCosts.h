//===- PlannedCosts.h - Costs of replicas as a plan states them -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_PLANNEDCOSTS_H
#define RONDO_FORMATS_PLANNEDCOSTS_H

#include "schedule/model/Problem.h"

#include <optional>
#include <string>

namespace rondo {

/// A stage's costs for all samples, as a plan states them.
struct WholeCosts {
  int64_t forwardNs = 0, inputGradNs = 0, weightGradNs = 0;
  int64_t activationBytes = 0, freedBytes = 0, stepNs = 0;
  int64_t recomputeNs = 0, recomputedBytes = 0, checkpointBytes = 0;
  /// Taken by I, and by B, for W.
  int64_t keptBytes = 0;
};
WholeCosts wholeCosts(const Problem &problem, int32_t stage);

/// Why the costs of a stage's replicas are not those that a plan gives them;
/// empty if they are.
std::string whyNoCosts(const Problem &problem, int32_t stage);

/// Copies of a stage to its host, for all samples, with times by its host
/// links; nothing if it does not copy.
std::optional<StageCopies> wholeCopies(const Problem &problem, int32_t stage);

} // namespace rondo

#endif // RONDO_FORMATS_PLANNEDCOSTS_H
