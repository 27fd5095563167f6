//===- rondo-lsp-server.cpp - Errors and symbols in an editor -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Pipe.h"
#include "tools/LibraryOptions.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  rondo::removeLibraryOptions();
  mlir::DialectRegistry registry;
  registry.insert<rondo::pipe::PipeDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
