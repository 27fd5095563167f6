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

/// The most tasks of a schedule whose programs are proved without compiling it,
/// which takes about 5 us a task.
inline constexpr int64_t maxProvedTasks = 1000000;

/// Checks a module that is about to be written as `rondo compile` checks it,
/// but for arenas that exceed a device. Programs of more than maxProvedTasks
/// tasks are not checked. The error is about Rondo, which made the module, or
/// says why programs of the schedule would wait forever.
llvm::Error checkChosen(mlir::ModuleOp module);

/// Leaves out the costs and buffers of stages, which follow from their layers.
void dropStageFigures(pipe::PlanOp plan);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_CHOSENPLAN_H
