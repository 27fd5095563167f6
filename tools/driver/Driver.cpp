//===- Driver.cpp - Finds the command and prints help ---------------------===//

#include "tools/driver/Commands.h"

#include "dialect/Nearest.h"
#include "tools/driver/OptionFault.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo::driver {

cl::OptionCategory category("Options");

namespace {

std::vector<const Command *> commands() {
  return {&compileCommand(), &bundleCommand(),   &searchCommand(),
          &compareCommand(), &simulateCommand(), &verifyCommand()};
}

void printCommands(raw_ostream &os) {
  os << "usage: rondo COMMAND [OPTIONS] ...\n\n"
        "commands:\n";
  for (const Command *command : commands())
    os << "  " << left_justify(command->options->getName(), 10)
       << command->options->getDescription() << "\n";
}

void printOverview(raw_ostream &os) {
  os << "rondo: schedules for pipeline-parallel training\n\n";
  printCommands(os);
  os << "\nexamples:\n";
  for (const Command *command : commands())
    os << command->examples;
  os << "\n`rondo COMMAND --help` tells more.\n";
}

void printOptions(raw_ostream &os, const Command &command) {
  std::vector<const cl::Option *> options;
  for (const auto &entry : command.options->OptionsMap)
    if (is_contained(entry.second->Categories, &category))
      options.push_back(entry.second);
  sort(options, [](const cl::Option *a, const cl::Option *b) {
    return a->ArgStr < b->ArgStr;
  });
  os << "options:\n";
  for (const cl::Option *option : options) {
    StringRef dashes = option->ArgStr.size() == 1 ? "-" : "--";
    std::string name = (dashes + option->ArgStr).str();
    if (!option->ValueStr.empty())
      name += (" " + option->ValueStr).str();
    os << "  " << left_justify(name, 24);
    if (name.size() > 22)
      os << "\n" << left_justify("", 26);
    os << option->HelpStr << "\n";
  }
}

void printHelp(raw_ostream &os, const Command &command) {
  StringRef name = command.options->getName();
  os << "rondo " << name << ": " << command.options->getDescription()
     << "\n\nusage: rondo " << name << " " << command.arguments << "\n\n";
  printOptions(os, command);
  if (command.printMore) {
    os << "\n";
    command.printMore(os);
  }
  os << "\nexamples:\n" << command.examples;
}

const Command *findCommand(StringRef name) {
  for (const Command *command : commands())
    if (command->options->getName() == name)
      return command;
  return nullptr;
}

bool asksForHelp(StringRef argument) {
  return argument == "--help" || argument == "-help" || argument == "-h";
}

/// With what there is.
int reportNoCommand(StringRef name) {
  SmallVector<StringRef> names;
  for (const Command *command : commands())
    names.push_back(command->options->getName());
  int code = reportUsage("there is no command '" + name + "'" +
                         didYouMean(name, names));
  printCommands(errs());
  errs() << "\n`rondo --help` shows examples.\n";
  return code;
}

/// Standard output can be a full disk.
int finish(int code) {
  outs().flush();
  if (!outs().has_error())
    return code;
  std::string why = outs().error().message();
  outs().clear_error();
  return reportError("cannot write to standard output: " + why);
}

} // namespace

static int runCommand(int argc, char **argv) {
  StringRef first = argc > 1 ? argv[1] : "";
  if (first == "help" && argc > 2 && !asksForHelp(argv[2])) {
    const Command *command = findCommand(argv[2]);
    if (!command)
      return reportNoCommand(argv[2]);
    printHelp(outs(), *command);
    return finish(Success);
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
  // A LLVM option in front of the command, such as --help-hidden.
  bool isOption = first.starts_with("--help-");
  if (!command && !isOption) {
    if (!first.empty())
      return reportNoCommand(first);
    printOverview(errs());
    return Usage;
  }
  for (int i = 2; i < argc; ++i)
    if (command && asksForHelp(argv[i])) {
      printHelp(outs(), *command);
      return finish(Success);
    }
  if (command)
    if (std::string fault =
            findArgumentFault(*command, {argv + 2, argv + argc});
        !fault.empty())
      return reportUsage(fault);
  std::string faults;
  raw_string_ostream faultStream(faults);
  if (!cl::ParseCommandLineOptions(argc, argv, "rondo\n", &faultStream)) {
    if (command)
      return reportUsage(describeOptionFault(*command, faults));
    errs() << faults;
    return Usage;
  }
  return command ? finish(command->run()) : finish(Success);
}

int runDriver(int argc, char **argv) {
  int code = runCommand(argc, argv);
  // Lost notes leave the result as it is; LLVM would end with status 1.
  errs().clear_error();
  return code;
}

} // namespace rondo::driver
