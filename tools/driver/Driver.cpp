//===- Driver.cpp - Finds the command and runs it -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"

#include "dialect/Nearest.h"
#include "tools/driver/Help.h"
#include "tools/driver/Report.h"

#include "llvm/Config/llvm-config.h"

using namespace llvm;

namespace rondo::driver {

ArrayRef<const Command *> commands() {
  static const Command *const table[] = {
      &compileCommand(), &bundleCommand(),   &planCommand(),  &searchCommand(),
      &compareCommand(), &simulateCommand(), &verifyCommand()};
  return table;
}

ArrayRef<ExitCodeText> exitCodes() {
  static const ExitCodeText texts[] = {
      {Success, "success; also if a time limit ended a search with a valid "
                "result, or some problems of a batch have no schedule"},
      {Failure, "invalid input, a broken rule, no schedule found that fits, or "
                "a file that cannot be read or written"},
      {Usage, "invalid command line"},
      {Infeasible, "no order, or no plan, fits the memory of the only problem"},
      {Interrupted, "interrupted by Ctrl-C, with a valid result written"}};
  return texts;
}

namespace {

const Command *findCommand(StringRef name) {
  for (const Command *command : commands())
    if (command->name == name)
      return command;
  return nullptr;
}

bool asksForHelp(StringRef argument) {
  return argument == "--help" || argument == "-help" || argument == "-h";
}

/// Lists the available commands.
int reportNoCommand(StringRef name) {
  SmallVector<StringRef> names;
  for (const Command *command : commands())
    names.push_back(command->name);
  int code =
      reportUsage("unknown command '" + name + "'" + didYouMean(name, names));
  printCommands(errs());
  errs() << "\nRun `rondo --help` for examples.\n";
  return code;
}

/// Standard output may be on a full disk.
int finish(int code) {
  outs().flush();
  if (!outs().has_error())
    return code;
  std::string why = outs().error().message();
  outs().clear_error();
  return reportError("cannot write to standard output: " + why);
}

int help(const Command &command) {
  printHelp(outs(), command);
  return finish(Success);
}

int runCommand(ArrayRef<const char *> arguments) {
  if (arguments.empty()) {
    printOverview(errs());
    return Usage;
  }
  StringRef first = arguments.front();
  arguments = arguments.drop_front();
  if (first == "help" && !arguments.empty() &&
      !asksForHelp(arguments.front())) {
    const Command *command = findCommand(arguments.front());
    return command ? help(*command) : reportNoCommand(arguments.front());
  }
  if (asksForHelp(first) || first == "help") {
    printOverview(outs());
    return finish(Success);
  }
  if (first == "--version") {
    outs() << "rondo " RONDO_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
    return finish(Success);
  }
  const Command *command = findCommand(first);
  if (!command)
    return reportNoCommand(first);
  if (any_of(arguments, asksForHelp))
    return help(*command);
  const Arguments parsed(*command, arguments);
  if (std::string fault = parsed.fault(); !fault.empty())
    return reportUsage(fault);
  return finish(command->run(parsed));
}

} // namespace

int runDriver(int argc, char **argv) {
  // Skips the program's name, which a caller may leave out.
  int code =
      runCommand(ArrayRef<const char *>(argv, argc).drop_front(argc > 0));
  // Losing a note must not change the result; LLVM would exit with status 1.
  errs().clear_error();
  return code;
}

} // namespace rondo::driver
