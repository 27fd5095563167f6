//===- OverlapTable.h - Tables of iterations that overlap -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_OVERLAPTABLE_H
#define RONDO_CODEGEN_OVERLAPTABLE_H

#include "codegen/EmitTables.h"

#include <string>

namespace rondo::codegen {

/// The delays of all replicas, and the object `overlap` that lists them.
std::string overlapTable(const OverlapText &overlap);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_OVERLAPTABLE_H
