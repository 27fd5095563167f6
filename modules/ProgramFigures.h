//===- ProgramFigures.h - The memory of programs, in words ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_MODULES_PROGRAMFIGURES_H
#define RONDO_MODULES_PROGRAMFIGURES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace rondo::pipe {

/// `@mine 1f1b`.
std::string titleOf(ScheduleOp schedule);

/// A line for each of several schedules: its micro-batches, and how much its
/// own pipeline needs of the shared arena. Empty if there is one.
std::string arenasOfSchedules(mlir::ModuleOp module);

/// For a plan on GPUs, a line about the device memory that programs take in
/// addition to their arenas; empty for a plan on CPUs.
std::string besideArenas(PlanOp plan);

} // namespace rondo::pipe

#endif // RONDO_MODULES_PROGRAMFIGURES_H
