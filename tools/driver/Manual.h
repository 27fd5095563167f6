//===- Manual.h - Manual pages and bash completion --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything written here is derived from the commands and their options.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_MANUAL_H
#define RONDO_TOOLS_DRIVER_MANUAL_H

#include "tools/driver/Commands.h"

namespace rondo::driver {

/// rondo(1), which lists the commands.
void writeManualPage(llvm::raw_ostream &os);
/// rondo-COMMAND(1).
void writeManualPage(llvm::raw_ostream &os, const Command &command);

/// Help for all commands, in Markdown.
void writeReference(llvm::raw_ostream &os);

/// The formats of `rondo export` and `rondo import`, as a table in Markdown.
void writeFormats(llvm::raw_ostream &os);

/// Bash completion of commands, options, their words, files and families.
void writeBashCompletion(llvm::raw_ostream &os);

/// Writes all of these into a folder: man1/*.1, commands.md, formats.md and
/// rondo.bash.
/// Returns the exit code; a failure has been printed.
int writeManual(llvm::StringRef folder);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_MANUAL_H
