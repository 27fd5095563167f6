//===- Commands.h - The commands of rondo -----------------------*- C++ -*-===//
//
// One file a command. A command's options are llvm::cl options of its
// SubCommand; help is printed from them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_COMMANDS_H
#define RONDO_TOOLS_DRIVER_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

namespace rondo::driver {

/// What a process of ours ends with.
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
  llvm::cl::SubCommand *options;
  /// What follows the command's name in its usage line.
  const char *arguments;
  /// Whole lines for help.
  const char *examples;
  /// Further help of the command, such as a table; nullptr where it has none.
  void (*printMore)(llvm::raw_ostream &os);
  /// Runs after the options have been parsed; returns the exit code.
  int (*run)();
};

const Command &bundleCommand();
const Command &compareCommand();
const Command &compileCommand();
const Command &searchCommand();
const Command &simulateCommand();
const Command &verifyCommand();

/// Options of commands belong here; all others are hidden from help.
extern llvm::cl::OptionCategory category;

/// The whole of `rondo`.
int runDriver(int argc, char **argv);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMMANDS_H
