//===- Passes.h - From programs to C++ --------------------------*- C++ -*-===//

#ifndef RONDO_CODEGEN_PASSES_H
#define RONDO_CODEGEN_PASSES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace rondo::codegen {

#define GEN_PASS_DECL
#include "codegen/Passes.h.inc"

void registerPasses();

/// Registers `--pipe-to-cpp` with rondo-translate: the EmitC of
/// `pipe-convert-to-emitc` as C++.
void registerTranslations();

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PASSES_H
