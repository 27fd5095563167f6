//===- PlaceTable.h - Where the buffers of a program lie --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PLACETABLE_H
#define RONDO_CODEGEN_PLACETABLE_H

#include "codegen/EmitTables.h"

#include <string>

namespace rondo::codegen {

/// The objects `pools` and `places`, and the arrays of slots that places share.
std::string placeTable(const ProgramText &program, const Problem &problem,
                       const ForEach &forEach);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PLACETABLE_H
