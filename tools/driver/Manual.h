//===- Manual.h - The commands as manual pages and for bash -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that is written here comes from the commands and their options.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_MANUAL_H
#define RONDO_TOOLS_DRIVER_MANUAL_H

#include "tools/driver/Commands.h"

namespace rondo::driver {

/// rondo(1), which names the commands.
void writeManualPage(llvm::raw_ostream &os);
/// rondo-COMMAND(1).
void writeManualPage(llvm::raw_ostream &os, const Command &command);

/// Help of all commands, in Markdown.
void writeReference(llvm::raw_ostream &os);

/// A completion of bash: commands, options, their words, files and families.
void writeBashCompletion(llvm::raw_ostream &os);

/// Writes all of these below a folder: man1/*.1, commands.md and rondo.bash.
/// Returns the exit code; a failure has been printed.
int writeManual(llvm::StringRef folder);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_MANUAL_H
