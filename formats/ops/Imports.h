//===- Imports.h - Models and clusters of other tools as ops ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_OPS_IMPORTS_H
#define RONDO_FORMATS_OPS_IMPORTS_H

#include "dialect/Pipe.h"
#include "formats/GraphProfile.h"
#include "formats/json/Cluster.h"
#include "formats/json/ModelConfig.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace rondo::formats {

/// A module with the model `name` for micro-batches of `batch` samples. Null
/// after reporting an error.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const json::ModelConfig &config,
                                              llvm::StringRef name,
                                              int64_t batch,
                                              mlir::MLIRContext *context);

/// Adds a cluster of one device and a plan with one stage of all layers to the
/// module of a model, to ask what the layers need on a target.
pipe::PlanOp addPlanOfAllLayers(mlir::ModuleOp module, pipe::TargetAttr target);
/// The same on rank 0 of a cluster. `target` may be null.
pipe::PlanOp addPlanOfAllLayers(pipe::ModelOp model, pipe::ClusterOp cluster,
                                pipe::TargetAttr target,
                                llvm::StringRef planName);

/// A module with the model `name`, whose layers are synthetic and state the
/// figures of the profile's batch. Null after reporting an error.
mlir::OwningOpRef<mlir::ModuleOp>
importProfile(const GraphProfile &profile, llvm::ArrayRef<ProfileLayer> layers,
              llvm::StringRef name, mlir::MLIRContext *context);
/// The same with a layer for each stage of a profile, which must be a chain.
mlir::OwningOpRef<mlir::ModuleOp> importStages(const Problem &problem,
                                               llvm::StringRef name,
                                               mlir::MLIRContext *context);
/// The number of stages whose B takes less than I and W together.
int32_t stagesOfCheaperBackward(const Problem &problem);
/// The name of a layer: `node3`, or `node3_to_node7` by its first and last
/// node.
std::string layerName(const GraphProfile &profile, const ProfileLayer &layer);

/// A module with the cluster. Null after reporting an error.
mlir::OwningOpRef<mlir::ModuleOp> importCluster(const json::Cluster &cluster,
                                                mlir::MLIRContext *context);

/// Prints the ops of a module without `module {}` around them, so that files
/// can be joined.
void printOps(mlir::ModuleOp module, llvm::raw_ostream &os);

} // namespace rondo::formats

#endif // RONDO_FORMATS_OPS_IMPORTS_H
