//===- CollectiveOps.h - Collectives to values and back ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of the bridge of programs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_COLLECTIVEOPS_H
#define RONDO_DIALECT_COLLECTIVEOPS_H

#include "dialect/Loops.h"
#include "schedule/program/Program.h"

namespace rondo::pipe {

/// The collective that an op states. Refuses homes that stages do not have.
mlir::FailureOr<Collective> readCollective(CollectiveOp op,
                                           const HomeNames &names);

/// Writes an op: by stages where all their homes take part, else home by home.
void writeCollective(mlir::OpBuilder &builder, mlir::Location loc,
                     int64_t number, const Collective &collective,
                     const HomeNames &names);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_COLLECTIVEOPS_H
