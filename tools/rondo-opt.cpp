//===- rondo-opt.cpp - Runs passes over the pipe dialect ------------------===//

#include "dialect/Pipe.h"
#ifdef RONDO_HAS_PASSES
#include "passes/Passes.h"
#endif

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<rondo::pipe::PipeDialect, mlir::emitc::EmitCDialect,
                  mlir::func::FuncDialect>();
#ifdef RONDO_HAS_PASSES
  rondo::pipe::registerPasses();
#endif
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Rondo's passes over the pipe dialect\n", registry));
}
