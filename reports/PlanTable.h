//===- PlanTable.h - The best plans of a model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_PLANTABLE_H
#define RONDO_REPORTS_PLANTABLE_H

#include "planning/model/ModelBaselines.h"

#include "llvm/Support/raw_ostream.h"

#include <vector>

namespace rondo {

/// Sizes to which the figures of a model's plans refer.
struct ModelFigures {
  int64_t samples = 0;
  /// Tokens per sample; 0 if the model has no tokens.
  int64_t tokens = 0;
  /// Floating-point operations per sample: F, I and W of all layers, without
  /// recomputation.
  double flopsOfSample = 0;
  /// Peak operations per microsecond of all devices together; 0 if a device
  /// does not state its own.
  double peakFlopsPerUs = 0;
  /// Layers, and those whose times were measured.
  int64_t layers = 0, measured = 0;
  /// Layers that state their times themselves: synthetic ones.
  int64_t stated = 0;
};

/// Prints the plans of published planners, best first, compared with `best`.
void printModelBaselines(llvm::raw_ostream &os,
                         const std::vector<ModelBaseline> &baselines,
                         const PlanTrial &best);

/// Prints the best plans, one a row.
void printPlans(llvm::raw_ostream &os, const ModelPlannerResult &result,
                const ModelFigures &figures, int64_t rows);

} // namespace rondo

#endif // RONDO_REPORTS_PLANTABLE_H
