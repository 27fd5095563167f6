//===- ModuleFile.h - A .mlir file in memory --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_MODULEFILE_H
#define RONDO_TOOLS_DRIVER_MODULEFILE_H

#include "passes/Passes.h"
#include "tools/driver/Interrupt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace rondo::driver {

/// A module of the pipe dialect. Every failure has been printed, with its place
/// in the file.
class ModuleFile {
public:
  ModuleFile();

  mlir::LogicalResult read(llvm::StringRef path);
  /// Adds what another file holds.
  mlir::LogicalResult readAlso(llvm::StringRef path);
  /// Runs the passes that `build` adds.
  mlir::LogicalResult run(llvm::function_ref<void(mlir::PassManager &)> build);
  /// For passes: Ctrl-C ends their searches, and exitCode() is what they found.
  pipe::RunControl *control() { return &runControl; }

  /// Whether a module has been read.
  bool isRead() const { return static_cast<bool>(root); }
  mlir::ModuleOp module() { return *root; }
  /// The exit code after a failed run(): Infeasible if no order at all fits
  /// the devices' memory, otherwise Failure.
  int exitCode() const;

private:
  /// A file's text, and what prints its lines.
  struct Source {
    llvm::SourceMgr manager;
    std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  };
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef path);

  // Handlers belong to the context.
  mlir::MLIRContext context;
  std::vector<std::unique_ptr<Source>> sources;
  mlir::OwningOpRef<mlir::ModuleOp> root;
  pipe::RunControl runControl{Interrupt::flag()};
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_MODULEFILE_H
