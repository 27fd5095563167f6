//===- Simulate.cpp - rondo simulate --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Simulate.h"

#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

#define OPTIONS "tools/driver/Simulate.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

void printFamilies(raw_ostream &os) {
  for (const Family &family : families()) {
    std::string name = family.name;
    char separator = ':';
    for (const FamilyParameter &parameter : family.parameters) {
      name += separator + std::string(parameter.name) + "=" +
              std::to_string(parameter.defaultValue);
      separator = ',';
    }
    os << "  " << left_justify(name, 24) << family.summary << "\n";
    for (const FamilyParameter &parameter : family.parameters) {
      os << "  " << left_justify("", 24) << parameter.name << ": "
         << parameter.summary << ", at least " << parameter.minimum;
      if (parameter.maximum != std::numeric_limits<int64_t>::max())
        os << " and at most " << parameter.maximum;
      os << "\n";
    }
  }
}

int run(const Arguments &arguments) {
  SimulateRequest request;
  request.path = arguments.file();
  if (request.path.empty())
    return reportUsage("simulate needs a file");
  const bool asJson = arguments.has("json");
  const bool withTimeline = arguments.has("timeline");
  if (asJson && withTimeline)
    return reportUsage("--timeline and --json cannot be combined");
  const bool explains = arguments.has("explain");
  if (explains && withTimeline)
    return reportUsage("--timeline and --explain cannot be combined");
  request.style = explains ? (asJson ? Style::ExplainedJson : Style::Explained)
                  : asJson ? Style::Json
                  : withTimeline ? Style::Timeline
                                 : Style::Table;
  for (const std::string &text : arguments.all("family"))
    if (std::optional<std::string> fault =
            chooseFamilies(text, request.choices))
      return reportUsage(*fault);
  request.window = windowRequest(arguments);
  request.schedulesPath = arguments.text("schedules");
  request.costsPath = arguments.text("costs");
  request.problemOutput = arguments.text("problem-output");
  if (int code = checkOutputs(inputFiles(arguments, {"costs", "schedules"}),
                              {{"--problem-output", request.problemOutput}}))
    return code;
  Interrupt interrupt;
  return simulateFile(request);
}

} // namespace

const Command &simulateCommand() {
  static const Command command{
      70,
      "simulate",
      "predict time and memory of schedules",
      optionTable(),
      {"FILE [--schedules FILE] [--family NAME]... [--timeline | --explain] "
       "[--json] [OPTIONS]"},
      {"rondo simulate problem.json --family kfkb:k=2 --timeline",
       "rondo simulate examples/gpt-small.mlir --timeline",
       "rondo simulate examples/gpt-small.mlir --explain",
       "rondo simulate problem.json --schedules schedules.jsonl --explain",
       "rondo simulate problems.jsonl --family all --json > schedules.jsonl"},
      "families",
      printFamilies,
      run};
  return command;
}

} // namespace rondo::driver
