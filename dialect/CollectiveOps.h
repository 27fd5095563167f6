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

/// The collective that an op states. Refuses replicas that stages do not have.
mlir::FailureOr<Collective> readCollective(CollectiveOp op,
                                           const ReplicaNames &names);

/// Writes an op: by stages where all their replicas take part, else replica by
/// replica.
CollectiveOp writeCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::StringAttr name,
                             const Collective &collective,
                             const ReplicaNames &names);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_COLLECTIVEOPS_H
