//===- Passes.h - The passes of Rondo ---------------------------*- C++ -*-===//

#ifndef RONDO_PASSES_PASSES_H
#define RONDO_PASSES_PASSES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace rondo::pipe {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// Registers all passes and the pipelines of Pipelines.h.
void registerPasses();

} // namespace rondo::pipe

#endif // RONDO_PASSES_PASSES_H
