//===- run_executable.h - main() of an emitted program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_RUN_EXECUTABLE_H
#define RONDO_RUNTIME_TRAINER_RUN_EXECUTABLE_H

#include "runtime/model/executable.h"

namespace rondo::runtime {

/// Runs what the command line asks for and returns the exit code.
int run_executable(const Executable &executable, int argc, char **argv);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_RUN_EXECUTABLE_H
