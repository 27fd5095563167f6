//===- SinglePlan.h - A module of one plan with its schedule ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_MODULES_SINGLEPLAN_H
#define RONDO_MODULES_SINGLEPLAN_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::pipe {

struct SinglePlan {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the module.
  PlanOp plan;
};

/// A new module with the plan, its model and its cluster alone, in their order,
/// under these names.
SinglePlan moduleOfPlan(PlanOp chosen, llvm::StringRef planName,
                        llvm::StringRef modelName);

/// Removes the costs and buffers of stages, which follow from their layers.
void dropStageFigures(PlanOp plan);

/// Adds a schedule after its plan: an order, which sums in index order. A
/// window's order becomes the prologue and what repeats, with the window's
/// policies; fails if it does not repeat.
mlir::FailureOr<ScheduleOp> addSchedule(PlanOp plan, llvm::StringRef name,
                                        const Schedule &order,
                                        const Problem &problem);
/// Adds a schedule without a body, which the family, such as `kfkb:k=2`,
/// writes.
ScheduleOp addSchedule(PlanOp plan, llvm::StringRef name,
                       const std::string &family);

/// The arenas of the program that compiling makes of a window's order, in bytes
/// by rank. The stages of `plan`, which stays as it is, have their costs.
/// Nothing if there is no such program, for example because the order does not
/// repeat within the window. Emits no diagnostics.
std::optional<std::vector<int64_t>>
arenasOfWindow(PlanOp plan, const Problem &window, const Schedule &order);

/// Programs of schedules with more tasks are not proved without compiling
/// them, which takes about 5 us a task.
inline constexpr int64_t maxProvedTasks = 1000000;

/// Checks a module that is about to be written as `rondo compile` checks it,
/// but for arenas that exceed a device. Programs of more than maxProvedTasks
/// tasks are not checked. The error is about Rondo, which made the module, or
/// says why programs of the schedule would wait forever.
llvm::Error checkCompiles(mlir::ModuleOp module);

} // namespace rondo::pipe

#endif // RONDO_MODULES_SINGLEPLAN_H
