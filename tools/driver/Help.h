//===- Help.h - What `rondo help` prints ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_HELP_H
#define RONDO_TOOLS_DRIVER_HELP_H

#include "tools/driver/Commands.h"

namespace rondo::driver {

/// `rondo help`: the commands, with examples.
void printOverview(llvm::raw_ostream &os);
/// Only the commands.
void printCommands(llvm::raw_ostream &os);
/// `rondo help COMMAND`.
void printHelp(llvm::raw_ostream &os, const Command &command);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_HELP_H
