//===- PlanModel.h - Plans of a model on a cluster --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PLANMODEL_H
#define RONDO_TOOLS_DRIVER_PLANMODEL_H

#include "dialect/Pipe.h"
#include "planning/model/ModelBaselines.h"
#include "tools/driver/Arguments.h"

namespace rondo::driver {

/// `rondo plan MODEL CLUSTER`. Returns the exit code.
int planModelFiles(const Arguments &arguments);

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
ModelFigures modelFigures(pipe::PlanOp allLayers, int64_t samples);

/// Prints the plans of published planners beside the best, best first.
void printModelBaselines(const std::vector<ModelBaseline> &baselines,
                         const PlanTrial &best);

/// Prints the best plans, one a row.
void printPlans(const ModelPlannerResult &result, const ModelFigures &figures,
                int64_t rows);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANMODEL_H
