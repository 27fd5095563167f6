//===- Passes.h - From programs to C++ --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PASSES_H
#define RONDO_CODEGEN_PASSES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace rondo::codegen {

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

/// The pass that prints to `os`, which outlives it.
std::unique_ptr<mlir::Pass> createEmitCpp(const EmitCppOptions &options,
                                          llvm::raw_ostream &os);

void registerPasses();

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PASSES_H
