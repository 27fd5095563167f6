//===- Commands.h - The commands of rondo -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command is two files: <Command>.td has its options, and <Command>.cpp its
// text for the help and its work, in nameCommand(). CMake finds the .td and
// writes Commands.inc, a list of COMMAND(name), which only Driver.cpp includes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_COMMANDS_H
#define RONDO_TOOLS_DRIVER_COMMANDS_H

#include "tools/driver/Arguments.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace rondo::driver {

/// The exit codes of the tools; see exitCodes().
enum ExitCode : int {
  Success = 0,
  Failure = 1,
  Usage = 2,
  /// No order at all fits the memory caps of the only problem.
  Infeasible = 3,
  /// Ended by a signal, after writing a valid result.
  Interrupted = 4,
};

struct Command {
  /// Commands are listed by ascending place; places are 10 apart.
  int place;
  /// One word, or two: `import model`.
  const char *name;
  /// One phrase for the help.
  const char *summary;
  const llvm::opt::OptTable &options;
  /// The text after the command's name in its usage lines.
  std::vector<const char *> usages;
  /// Whole command lines for the help.
  std::vector<const char *> examples;
  /// A table to print with its help, and the table's title; null if there is
  /// none.
  const char *tableTitle;
  void (*printTable)(llvm::raw_ostream &os);
  /// Runs with valid arguments; returns the exit code.
  int (*run)(const Arguments &arguments);
  /// Maximum number of positional arguments.
  size_t maxFiles = 1;
};

/// Sorted by place, which is the order of the help.
llvm::ArrayRef<const Command *> commands();
/// The commands of two words that begin with this one, such as `import`.
std::vector<const Command *> commandsAfter(llvm::StringRef word);

/// `rondo-import-model`: the name with a hyphen for each blank, as manual pages
/// have it.
std::string hyphenated(const Command &command);

/// Codes and their meanings, for the manual.
struct ExitCodeText {
  ExitCode code;
  const char *meaning;
};
llvm::ArrayRef<ExitCodeText> exitCodes();

/// The whole of `rondo`.
int runDriver(int argc, char **argv);

//===----------------------------------------------------------------------===//
// Help, manual pages and bash completion, derived from the commands
//===----------------------------------------------------------------------===//

/// Which of plan, search and compare to take, a table of their help.
void printPlanCommands(llvm::raw_ostream &os);

/// `rondo help`: the commands, with examples.
void printOverview(llvm::raw_ostream &os);
/// Only the commands.
void printCommands(llvm::raw_ostream &os);
/// `rondo help COMMAND`.
void printHelp(llvm::raw_ostream &os, const Command &command);

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

/// Writes all of these into a folder: man1/*.1, commands.md, formats.md,
/// rondo.bash, and keys.md, the keys of the JSON formats.
/// Returns the exit code; a failure has been printed.
int writeManual(llvm::StringRef folder);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMMANDS_H
