//===- EmitExecutable.h - Programs as the C++ of an executable --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_EMITEXECUTABLE_H
#define RONDO_CODEGEN_EMITEXECUTABLE_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo::codegen {

/// An executable of one or more schedules.
struct ExecutableToEmit {
  llvm::StringRef name;
  llvm::ArrayRef<pipe::ScheduleOp> schedules;
  bool isAdaptive = false;
  /// Whether the program can impose links.
  bool imposesLinks = false;
  /// The object of the target's runtime library; empty: as the target says.
  llvm::StringRef backend;
};

/// Writes it as C++; the module stays as it is. Nothing is written if it fails.
/// `analyses` are the module's.
mlir::LogicalResult emitExecutable(mlir::ModuleOp module,
                                   const ExecutableToEmit &executable,
                                   mlir::AnalysisManager analyses,
                                   llvm::raw_ostream &os);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_EMITEXECUTABLE_H
