//===- Manual.cpp - Help and manual pages of the commands -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"

#include "formats/json/Formats.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo::driver {

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

void printPlanCommands(raw_ostream &os) {
  const auto row = [&](const char *command, const char *use) {
    os << "  " << left_justify(command, 24) << use << "\n";
  };
  row("plan", "a model and a cluster without a plan: finds stages, replicas, "
              "micro-batches and a schedule");
  row("search", "a plan as it is: finds an order for it");
  row("search --placement", "a plan on the same ranks: finds other stages for "
                            "them, and an order; writes the best");
  row("compare", "a plan as it is: lists every family and a searched order");
  row("compare --placement", "the same for each of the plans that search "
                             "--placement tries; writes none");
}

void printCommands(raw_ostream &os) {
  os << "usage: rondo COMMAND [OPTIONS] ...\n\n"
        "commands:\n";
  for (const Command *command : commands())
    os << "  " << left_justify(command->name, 26) << command->summary << "\n";
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

/// After an empty line; nothing for a command without options.
static void printOptions(raw_ostream &os, const Command &command) {
  const std::vector<OptionText> options = optionTexts(command.options);
  if (options.empty())
    return;
  os << "\noptions:\n";
  for (const OptionText &option : options) {
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
  printOptions(os, command);
  if (command.printTable) {
    os << "\n" << command.tableTitle << ":\n";
    command.printTable(os);
  }
  os << "\nexamples:\n";
  for (const char *example : command.examples)
    os << "  " << example << "\n";
}

//===----------------------------------------------------------------------===//
// Manual pages
//===----------------------------------------------------------------------===//

namespace {

/// Text escaped for troff.
std::string troff(StringRef text) {
  std::string escaped;
  bool isLineStart = true;
  for (char c : text) {
    if (isLineStart && (c == '.' || c == '\''))
      escaped += "\\&";
    isLineStart = c == '\n';
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  return escaped;
}

void writeTitle(raw_ostream &os, StringRef name, StringRef summary) {
  os << ".\\\" Written by rondo-manual.\n"
     << ".TH " << troff(name.upper()) << " 1 \"\" \"rondo " RONDO_VERSION
     << "\" \"Rondo\"\n"
     << ".SH NAME\n"
     << troff(name) << " \\- " << troff(summary) << "\n";
}

void writeVerbatim(raw_ostream &os, StringRef text) {
  os << ".nf\n" << troff(text) << ".fi\n";
}

void writeExitCodes(raw_ostream &os) {
  os << ".SH EXIT STATUS\n";
  for (const ExitCodeText &text : exitCodes())
    os << ".TP\n.B " << int(text.code) << "\n" << troff(text.meaning) << "\n";
}

/// Refers to the pages of all commands but `except`.
void writeSeeAlso(raw_ostream &os, const Command *except) {
  SmallVector<std::string> pages;
  if (except)
    pages.push_back("rondo");
  for (const Command *command : commands())
    if (command != except)
      pages.push_back(hyphenated(*command));
  os << ".SH SEE ALSO\n";
  for (auto [number, page] : enumerate(pages))
    os << ".BR " << troff(page)
       << (number + 1 < pages.size() ? " (1),\n" : " (1)\n");
}

} // namespace

void writeManualPage(raw_ostream &os) {
  writeTitle(os, "rondo", "schedules for pipeline-parallel training");
  os << ".SH SYNOPSIS\n.B rondo\n.I COMMAND\n[\\fIOPTIONS\\fR] ...\n"
        ".br\n.B rondo help\n[\\fICOMMAND\\fR]\n"
        ".SH COMMANDS\n";
  for (const Command *command : commands())
    os << ".TP\n.BR " << troff(hyphenated(*command)) << " (1)\n"
       << troff(command->summary) << "\n";
  os << ".SH ENVIRONMENT\n.TP\n.B RONDO_RUNTIME_DIR\n"
     << troff("where compile and bundle find the runtime, instead of the "
              "installation's or the build's own\n")
     << ".TP\n.B CXX\n"
     << troff("the C++ compiler of compile, instead of c++\n")
     << ".TP\n.B RONDO_CXXFLAGS\n"
     << troff("further arguments of that compiler, after -O2, separated by "
              "spaces\n");
  writeExitCodes(os);
  os << ".SH EXAMPLES\n";
  for (const Command *command : commands())
    writeVerbatim(os, std::string(command->examples.front()) + "\n");
  writeSeeAlso(os, nullptr);
}

void writeManualPage(raw_ostream &os, const Command &command) {
  writeTitle(os, hyphenated(command), command.summary);
  os << ".SH SYNOPSIS\n";
  for (const char *usage : command.usages)
    os << ".B rondo " << command.name << "\n" << troff(usage) << "\n.br\n";
  const std::vector<OptionText> options = optionTexts(command.options);
  if (!options.empty())
    os << ".SH OPTIONS\n";
  for (const OptionText &option : options) {
    os << ".TP\n\\fB" << troff(option.spelling()) << "\\fR";
    if (option.takesValue())
      os << " \\fI" << troff(option.metavar) << "\\fR";
    os << "\n" << troff(option.help) << "\n";
  }
  if (command.printTable) {
    os << ".SH " << StringRef(command.tableTitle).upper() << "\n";
    std::string table;
    raw_string_ostream rows(table);
    command.printTable(rows);
    writeVerbatim(os, table);
  }
  writeExitCodes(os);
  os << ".SH EXAMPLES\n";
  for (const char *example : command.examples)
    writeVerbatim(os, std::string(example) + "\n");
  writeSeeAlso(os, &command);
}

void writeReference(raw_ostream &os) {
  os << "# Commands\n\n```text\n";
  printOverview(os);
  os << "```\n";
  for (const Command *command : commands()) {
    os << "\n## rondo " << command->name << "\n\n```text\n";
    printHelp(os, *command);
    os << "```\n";
  }
  os << "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const ExitCodeText &text : exitCodes())
    os << "| " << int(text.code) << " | " << text.meaning << " |\n";
}

/// Text with names and options as code.
static std::string withCode(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ' ');
  std::string result;
  for (StringRef word : words) {
    const StringRef name = word.trim("(),.");
    const bool isCode = name.contains('_') || name.starts_with("--");
    const size_t begin = isCode ? word.find(name) : 0;
    result += result.empty() ? "" : " ";
    result += isCode ? (word.take_front(begin) + "`" + name + "`" +
                        word.drop_front(begin + name.size()))
                           .str()
                     : word.str();
  }
  return result;
}

void writeFormats(raw_ostream &os) {
  os << "| kind | export needs | import reads | what it is |\n"
        "|---|---|---|---|\n";
  const auto row = [&](StringRef name, StringRef needs, StringRef reads,
                       StringRef summary) {
    os << "| `" << name << "` |" << (needs.empty() ? "" : " ") << needs << " |"
       << (reads.empty() ? "" : " ") << reads << " | " << withCode(summary)
       << " |\n";
  };
  for (const exchange::Exporter &exporter : exchange::exporters()) {
    const auto *importer = findFormat(exchange::importers(), exporter.name);
    row(exporter.name, exchange::namesOf(exporter.needs),
        importer ? exchange::namesOf(importer->needs) : "", exporter.summary);
  }
  for (const exchange::Importer &importer : exchange::importers())
    if (!findFormat(exchange::exporters(), importer.name))
      row(importer.name, "", exchange::namesOf(importer.needs),
          importer.summary);
}

int writeManual(StringRef folder) {
  const std::string pages = (folder + "/man1").str();
  if (std::error_code ec = sys::fs::create_directories(pages))
    return reportError("cannot make " + pages + ": " + ec.message());
  auto write = [](const Twine &path, function_ref<void(raw_ostream &)> print) {
    Error error = writeFile(path.str(), [&](raw_ostream &os) {
      print(os);
      return Error::success();
    });
    return error ? reportError(toString(std::move(error))) : int(Success);
  };
  int code = write(folder + "/rondo.bash", writeBashCompletion);
  code |= write(folder + "/commands.md", writeReference);
  code |= write(folder + "/formats.md", writeFormats);
  code |= write(folder + "/keys.md", json::writeFormats);
  code |=
      write(pages + "/rondo.1", [](raw_ostream &os) { writeManualPage(os); });
  for (const Command *command : commands())
    code |= write(pages + "/" + hyphenated(*command) + ".1",
                  [&](raw_ostream &os) { writeManualPage(os, *command); });
  return code;
}

} // namespace rondo::driver
