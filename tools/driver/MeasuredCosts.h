//===- MeasuredCosts.h - Puts measured times into a module ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_MEASUREDCOSTS_H
#define RONDO_TOOLS_DRIVER_MEASUREDCOSTS_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"

namespace rondo::driver {

/// Replaces the times of the stages that a rondo-costs/1 file names and keeps
/// their bytes. The stages must have `costs`. False, with an error reported, if
/// the file cannot be read or names a stage that is in no plan; prints a note
/// if it names only some of a plan's stages.
bool applyCosts(mlir::ModuleOp module, llvm::StringRef path);

/// Gives the stages of a plan, and of all others of its model, the times of
/// rondo-costs/1 files. One file with times of these plans' micro-batches, or
/// that does not say of which, is for stages by name, as above. Of several, or
/// where `areSizesTried`, the layers get the times as in applyLayerCosts(), and
/// each plan those of its size.
bool applyCosts(pipe::PlanOp plan, llvm::ArrayRef<std::string> paths,
                bool areSizesTried);

/// Gives the layers of a model the times of rondo-costs/1 files that say which
/// layers were measured, whatever their stages were. Where a stage had several,
/// each gets a part in proportion to its estimated time. Files may be of
/// several sizes of micro-batches, which a layer then knows. False, with an
/// error reported, if a file cannot be read, was measured for another target
/// than the plan's, names other layers, or has a size that another has too.
bool applyLayerCosts(pipe::PlanOp allLayers, llvm::ArrayRef<std::string> paths);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_MEASUREDCOSTS_H
