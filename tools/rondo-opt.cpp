//===- rondo-opt.cpp - Runs passes over the pipe dialect ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Passes.h"
#include "dialect/Pipe.h"
#include "passes/FreedMemory.h"
#include "passes/Passes.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  rondo::pipe::keepFreedMemory();
  mlir::DialectRegistry registry;
  registry.insert<rondo::pipe::PipeDialect, mlir::emitc::EmitCDialect,
                  mlir::func::FuncDialect>();
  rondo::pipe::registerPasses();
  rondo::codegen::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Rondo's passes over the pipe dialect\n", registry));
}
