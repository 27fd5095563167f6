//===- EmitFunctions.h - Rank functions as C++ ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_EMITFUNCTIONS_H
#define RONDO_CODEGEN_EMITFUNCTIONS_H

#include "codegen/RankCode.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo::codegen {

/// Writes the function and, if it has parameters, a constant row for each of
/// its ranks (`<function>_row_<rank>`). Loops stay loops.
void emitFunction(llvm::raw_ostream &os, const SharedFunction &function);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_EMITFUNCTIONS_H
