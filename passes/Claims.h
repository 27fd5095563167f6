//===- Claims.h - What schedules say of themselves --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_CLAIMS_H
#define RONDO_PASSES_CLAIMS_H

#include "dialect/Pipe.h"

namespace rondo::pipe {

/// Of a schedule that keeps the rules: where iterations overlap, its claims are
/// what follows from its order, and the norm that it asks for can be had.
mlir::LogicalResult verifyPromises(ScheduleOp schedule);

} // namespace rondo::pipe

#endif // RONDO_PASSES_CLAIMS_H
