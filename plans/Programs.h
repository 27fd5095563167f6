//===- Programs.h - Programs and executables of schedules -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_PROGRAMS_H
#define RONDO_PLANS_PROGRAMS_H

#include "dialect/Bridge.h"
#include "lowering/Lowering.h"

#include "mlir/IR/BuiltinOps.h"

namespace rondo::pipe {

/// `main_lowered`, the name of a schedule's program of a kind.
std::string programName(ScheduleOp schedule, rondo::ProgramKind kind);

/// The problem whose ranks run a program of this kind: one rank for the
/// sequential reference, else the plan's own.
Problem executingProblem(ProgramKind kind, const Problem &problem);

/// The schedules of each executable of a module; a schedule that none names is
/// one alone.
std::vector<llvm::SmallVector<ScheduleOp, 0>>
executables(mlir::ModuleOp module);

/// The dialect's kinds are those of lowering, in the same order.
inline ProgramKind dialectKind(rondo::ProgramKind kind) {
  return static_cast<ProgramKind>(kind);
}
inline rondo::ProgramKind loweredKind(ProgramKind kind) {
  return static_cast<rondo::ProgramKind>(kind);
}
static_assert(
    int(ProgramKind::Sequential) == int(rondo::ProgramKind::Sequential) &&
        int(ProgramKind::Pipeline) == int(rondo::ProgramKind::Pipeline) &&
        int(ProgramKind::Evaluation) == int(rondo::ProgramKind::Evaluation),
    "the two conversions above are casts");

} // namespace rondo::pipe

#endif // RONDO_PLANS_PROGRAMS_H
