//===- EmitExecutable.h - Programs as the C++ of an executable --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_EMITEXECUTABLE_H
#define RONDO_CODEGEN_EMITEXECUTABLE_H

#include "dialect/Pipe.h"
#include "passes/CheckedSchedules.h"
#include "passes/KnownPrograms.h"
#include "passes/PlanFigures.h"

#include "mlir/IR/BuiltinOps.h"

namespace rondo::codegen {

/// An executable of one or more schedules.
struct ExecutableToEmit {
  llvm::StringRef name;
  llvm::ArrayRef<pipe::ScheduleOp> schedules;
  bool isAdaptive = false;
  /// The object of the target's runtime library; empty: as the target says.
  llvm::StringRef backend;
};

/// What passes before have found out about the module's schedules and programs;
/// null: nothing.
struct FoundBefore {
  const pipe::CheckedSchedules *schedules = nullptr;
  /// Emitting takes what it needs.
  pipe::VerifiedPrograms *programs = nullptr;
};

/// Writes it as EmitC behind all that the module holds, which stays.
mlir::LogicalResult emitExecutable(mlir::ModuleOp module,
                                   const ExecutableToEmit &executable,
                                   pipe::ScheduleFigures &figures,
                                   const FoundBefore &before);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_EMITEXECUTABLE_H
