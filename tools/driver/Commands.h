//===- Commands.h - The commands of rondo -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file a command. Its options stand in options/<Command>.td.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_COMMANDS_H
#define RONDO_TOOLS_DRIVER_COMMANDS_H

#include "tools/driver/Arguments.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo::driver {

/// The exit codes of the tools; see exitCodes().
enum ExitCode : int {
  Success = 0,
  Failure = 1,
  Usage = 2,
  /// A single problem has no schedule under its memory caps.
  Infeasible = 3,
  /// Ended by a signal, with a valid result written.
  Interrupted = 4,
};

struct Command {
  const char *name;
  /// One phrase for help.
  const char *summary;
  const llvm::opt::OptTable &options;
  /// What follows the command's name in its usage lines.
  std::vector<const char *> usages;
  /// Whole command lines for help.
  std::vector<const char *> examples;
  /// A table that belongs to its help, with a title; null where it has none.
  const char *tableTitle;
  void (*printTable)(llvm::raw_ostream &os);
  /// Runs with arguments that have no fault; returns the exit code.
  int (*run)(const Arguments &arguments);
};

const Command &bundleCommand();
const Command &compareCommand();
const Command &compileCommand();
const Command &searchCommand();
const Command &simulateCommand();
const Command &verifyCommand();

/// In the order in which people should read them.
llvm::ArrayRef<const Command *> commands();

/// Codes and what they mean, for the manual.
struct ExitCodeText {
  ExitCode code;
  const char *meaning;
};
llvm::ArrayRef<ExitCodeText> exitCodes();

/// The whole of `rondo`.
int runDriver(int argc, char **argv);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMMANDS_H
