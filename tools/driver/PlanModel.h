//===- PlanModel.h - Plans of a model on a cluster --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PLANMODEL_H
#define RONDO_TOOLS_DRIVER_PLANMODEL_H

#include "dialect/Pipe.h"
#include "reports/PlanTable.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Session.h"

namespace rondo::driver {

/// `rondo plan MODEL CLUSTER`. Returns the exit code.
int planModelFiles(const Arguments &arguments);

/// `rondo plan --layers FILE --batches FILE`. Returns the exit code.
int planBatches(const Arguments &arguments);

/// `allLayers` has all layers of the model in one stage.
ModelFigures modelFigures(pipe::PlanOp allLayers, int64_t samples);

/// Keeps to the model's own batch if layers state their sizes for that: then
/// `microbatchSamples` becomes this size. Refuses sizes and an iteration's
/// `samples` that do not agree with it. Returns the exit code.
int keepModelBatch(pipe::ModelOp model, int64_t samples,
                   std::vector<int64_t> &microbatchSamples);

/// Reports what is wrong with every plan of the model on its target.
/// `allLayers` has all layers in one stage; other plans of its module do not
/// matter.
mlir::LogicalResult checkModel(pipe::PlanOp allLayers);

/// Prints a note for each plan of the model whose stages form a graph, which
/// `rondo plan` does not keep.
void noteGraphs(Session &session, pipe::ModelOp model);
/// Refuses a file with a plan of the model whose micro-batches differ.
mlir::LogicalResult checkPlansOf(Session &session, pipe::ModelOp model);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANMODEL_H
