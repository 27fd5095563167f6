//===- Help.cpp - What `rondo help` prints --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Help.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo::driver {

void printCommands(raw_ostream &os) {
  os << "usage: rondo COMMAND [OPTIONS] ...\n\n"
        "commands:\n";
  for (const Command *command : commands())
    os << "  " << left_justify(command->name, 16) << command->summary << "\n";
}

void printOverview(raw_ostream &os) {
  os << "rondo: schedules for pipeline-parallel training\n\n";
  printCommands(os);
  os << "\nexamples:\n";
  for (const Command *command : commands())
    for (const char *example : command->examples)
      os << "  " << example << "\n";
  os << "\nRun `rondo COMMAND --help` for details.\n";
}

static void printOptions(raw_ostream &os, const Command &command) {
  os << "options:\n";
  for (const OptionText &option : optionTexts(command.options)) {
    std::string name = option.spelling();
    if (option.takesValue())
      name += (" " + option.metavar).str();
    os << "  " << left_justify(name, 24);
    if (name.size() > 22)
      os << "\n" << left_justify("", 26);
    os << option.help << "\n";
  }
}

void printHelp(raw_ostream &os, const Command &command) {
  os << "rondo " << command.name << ": " << command.summary << "\n\n";
  StringRef head = "usage: ";
  for (const char *usage : command.usages) {
    os << head << "rondo " << command.name << " " << usage << "\n";
    head = "       ";
  }
  os << "\n";
  printOptions(os, command);
  if (command.printTable) {
    os << "\n" << command.tableTitle << ":\n";
    command.printTable(os);
  }
  os << "\nexamples:\n";
  for (const char *example : command.examples)
    os << "  " << example << "\n";
}

} // namespace rondo::driver
