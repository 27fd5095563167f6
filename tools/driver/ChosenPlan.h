//===- ChosenPlan.h - The module of one plan among several ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_CHOSENPLAN_H
#define RONDO_TOOLS_DRIVER_CHOSENPLAN_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace rondo::driver {

struct ChosenPlan {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the module.
  pipe::PlanOp plan;
};

/// A new module with the plan, its model and its cluster alone, in their order,
/// under these names.
ChosenPlan moduleOfPlan(pipe::PlanOp chosen, llvm::StringRef planName,
                        llvm::StringRef modelName);

/// Checks a module that is about to be written as `rondo compile` checks it, up
/// to and without its programs. The error is about Rondo, which made the
/// module.
llvm::Error checkChosen(mlir::ModuleOp module);

/// Leaves out the costs and buffers of stages, which follow from their layers.
void dropStageFigures(pipe::PlanOp plan);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_CHOSENPLAN_H
