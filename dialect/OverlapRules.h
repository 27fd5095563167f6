//===- OverlapRules.h - Local rules of iterations that overlap --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_OVERLAPRULES_H
#define RONDO_DIALECT_OVERLAPRULES_H

#include "dialect/Pipe.h"

namespace rondo::pipe {

/// Whether the program runs iterations that overlap. Its schedule must be
/// there.
inline bool overlaps(ProgramOp program) {
  return program.getKind() == ProgramKind::Pipeline &&
         program.lookupSchedule().overlaps();
}

/// Only where iterations overlap does an order repeat, and then on all ranks
/// alike; what a schedule says of clipping is for one kind of schedule.
mlir::LogicalResult verifyOverlap(ScheduleOp schedule);
/// The same of what a program repeats. Its schedule must be there.
mlir::LogicalResult verifyOverlap(ProgramOp program);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_OVERLAPRULES_H
