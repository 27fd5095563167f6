//===- program_values.h - A program as the core knows it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H
#define RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H

#include "runtime/model/executable.h"
#include "schedule/program/Program.h"

namespace rondo::runtime {

/// A pipeline of an executable, for the core's simulator.
struct ProgramValues {
  /// With the predicted costs and links of the executable's tables, where there
  /// are any.
  Problem problem;
  /// Its order and its slots.
  Program program;
};

/// Reads the tables, and calls the function of every rank with a rank that only
/// writes its actions down. O(actions).
ProgramValues valuesOf(const Executable &executable,
                       const ProgramDesc &program);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H
