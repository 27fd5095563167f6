//===- Commands.h - The commands of rondo -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file per command. Its options are in options/<Command>.td.
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
  /// One word, or two: `import model`.
  const char *name;
  /// One phrase for the help.
  const char *summary;
  const llvm::opt::OptTable &options;
  /// What follows the command's name in its usage lines.
  std::vector<const char *> usages;
  /// Whole command lines for the help.
  std::vector<const char *> examples;
  /// A table to print with its help, and the table's title; null if there is
  /// none.
  const char *tableTitle;
  void (*printTable)(llvm::raw_ostream &os);
  /// Runs with valid arguments; returns the exit code.
  int (*run)(const Arguments &arguments);
  /// How many arguments may be neither options nor values.
  size_t maxFiles = 1;
};

const Command &blameCommand();
const Command &bundleCommand();
const Command &candidatesCommand();
const Command &compareCommand();
const Command &compileCommand();
const Command &diffCommand();
const Command &exportCommand();
const Command &importCommand();
const Command &importClusterCommand();
const Command &importModelCommand();
const Command &importProfileCommand();
const Command &planCommand();
const Command &searchCommand();
const Command &showCommand();
const Command &simulateCommand();
const Command &verifyCommand();
const Command &versionsCommand();

/// In the order of the help.
llvm::ArrayRef<const Command *> commands();

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

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_COMMANDS_H
