//===- CompareUnits.h - Units and chunks side by side -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_COMPAREUNITS_H
#define RONDO_TOOLS_DRIVER_COMPAREUNITS_H

#include "schedule/families/Family.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Simulate.h"

namespace rondo::driver {

/// Prints what `blockwise` chooses from where its unit u or its chunks v are
/// auto, a row for each of both: time, bubble, memory, traffic and what is in
/// the way of more. With v=auto the one plan of a .mlir file is cut for each
/// number of chunks; else plans stay as they are written. Returns the exit
/// code.
int compareUnits(const SimulateRequest &request, ShapeRequest shapes,
                 const FamilyChoice &choice);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMPAREUNITS_H
