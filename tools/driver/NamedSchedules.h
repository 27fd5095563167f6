//===- NamedSchedules.h - The schedules that --schedule names ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_NAMEDSCHEDULES_H
#define RONDO_TOOLS_DRIVER_NAMEDSCHEDULES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"

namespace rondo::driver {

/// Whether a name of --schedule is missing, as after the comma of `a,`.
bool hasEmptyName(llvm::StringRef wanted);

/// The schedules that `wanted` names, in its order; empty after reporting an
/// error.
llvm::SmallVector<pipe::ScheduleOp, 0> findSchedules(mlir::ModuleOp module,
                                                     llvm::StringRef wanted,
                                                     llvm::StringRef input);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_NAMEDSCHEDULES_H
