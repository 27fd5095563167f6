//===- Translations.h - Translates the language and other texts -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_OPS_TRANSLATIONS_H
#define RONDO_FORMATS_OPS_TRANSLATIONS_H

#include "dialect/Pipe.h"
#include "formats/json/Documents.h"
#include "schedule/model/Fault.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace rondo::formats {

/// Writes the problems of a rondo-problem/1 file as clusters, synthetic models
/// with one layer per stage, and plans. The plan has the problem's name;
/// cluster and model have the suffixes `_cluster` and `_model`. The objective
/// is not part of a plan and is left out. `fileName` distinguishes .jsonl from
/// .json. `schedulesPath` names a rondo-schedule/1 file whose schedules follow
/// the plans, or is empty. Null after reporting an error.
mlir::OwningOpRef<mlir::ModuleOp> importProblems(llvm::StringRef fileName,
                                                 llvm::StringRef contents,
                                                 llvm::StringRef schedulesPath,
                                                 mlir::MLIRContext *context);

/// The same of one problem. Null after reporting an error.
mlir::OwningOpRef<mlir::ModuleOp> importProblem(const Problem &problem,
                                                mlir::MLIRContext *context);

/// A rondo-schedule/1 object and the plan that its `problem` names.
struct ScheduleSource {
  json::Document document;
  pipe::PlanOp plan;
};

/// The first schedule of a rondo-schedule/1 file that is for a plan of the
/// module; `fileName` distinguishes .jsonl from .json. Points into `contents`.
/// Errors are one sentence, lower case, with the line in a .jsonl file.
Result<ScheduleSource> findSchedule(mlir::ModuleOp module,
                                    llvm::StringRef fileName,
                                    llvm::StringRef contents);

/// Applies the orders of a schedule to its plan: writes them as the last
/// `pipe.schedule` of the module, in loops, with `accumulate(schedule_order)`
/// if micro-batches are not in index order. `problem` is the plan's. The orders
/// must keep the rules S1 to S6 there; figures in the text are ignored, since
/// they may come from other costs. Orders of a window become a schedule that
/// repeats, with the text's `versions` and `clip`. If a cap is too small (S5)
/// the fault is a TextOverCap.
Result<pipe::ScheduleOp> importSchedule(const ScheduleSource &source,
                                        const Problem &problem);

/// The same of orders that are known to keep these rules in `problem`, which
/// may be a window of the plan's. `clipsByNorm`: steps of a window clip by the
/// norm of all gradients. Fails with an error if the language has no op for an
/// action, or if the order of a window does not repeat.
mlir::FailureOr<pipe::ScheduleOp> importOrders(pipe::PlanOp plan,
                                               const Problem &problem,
                                               const Schedule &schedule,
                                               bool clipsByNorm = false);

/// Writes each `pipe.schedule` of a module as a rondo-schedule line with its
/// figures. A schedule that breaks a rule, or has no body yet, is an error.
mlir::LogicalResult exportSchedules(mlir::ModuleOp module,
                                    llvm::raw_ostream &os);

/// Registers with rondo-translate: `--problem-to-pipe`, to which `--schedules`
/// adds schedules; `--problem-to-problem`, which rewrites problems in
/// version 2; `--pipe-to-schedule`.
void registerTranslations();

} // namespace rondo::formats

#endif // RONDO_FORMATS_OPS_TRANSLATIONS_H
