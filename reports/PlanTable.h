//===- PlanTable.h - The best plans of a model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_PLANTABLE_H
#define RONDO_REPORTS_PLANTABLE_H

#include "planning/model/ModelBaselines.h"

#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace rondo {

/// What the figures of a model's plans refer to.
struct ModelFigures {
  int64_t samples = 0;
  /// Of a sample; 0 where the model has no tokens.
  int64_t tokens = 0;
  /// Of one sample: F, I and W of all layers, without recomputation.
  double flopsOfSample = 0;
  /// Of all devices together, a microsecond; 0 where a device does not say.
  double peakFlopsPerUs = 0;
  /// Layers, and those whose times were measured.
  int64_t layers = 0, measured = 0;
  /// Layers that state their times themselves: synthetic ones.
  int64_t stated = 0;
};

/// Prints the plans of published planners beside the best, best first.
void printModelBaselines(llvm::raw_ostream &os,
                         const std::vector<ModelBaseline> &baselines,
                         const PlanTrial &best);

/// Prints the best plans, one a row.
void printPlans(llvm::raw_ostream &os, const ModelPlannerResult &result,
                const ModelFigures &figures, int64_t rows);

} // namespace rondo

#endif // RONDO_REPORTS_PLANTABLE_H
