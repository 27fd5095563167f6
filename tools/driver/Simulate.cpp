//===- Simulate.cpp - rondo simulate --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Simulate.h"

#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

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
    for (const FamilyParameter &parameter : family.parameters)
      os << "  " << left_justify("", 24) << parameter.name << ": "
         << parameter.summary << ", at least " << parameter.minimum << "\n";
  }
}

/// The first parameter of a family whose number int64 does not hold.
std::optional<std::string> largeParameter(StringRef text) {
  SmallVector<StringRef> pairs;
  text.split(':').second.split(pairs, ',');
  for (StringRef pair : pairs) {
    StringRef digits = pair.split('=').second;
    digits.consume_front("-");
    int64_t number;
    if (!digits.empty() && all_of(digits, isDigit) &&
        digits.getAsInteger(10, number))
      return pair.str();
  }
  return std::nullopt;
}

/// Adds the families that `text` asks for. Returns what is wrong with it, if
/// anything.
std::optional<std::string> choose(const std::string &text,
                                  std::vector<FamilyChoice> &choices) {
  if (text == "all") {
    append_range(choices, allFamilies());
    return std::nullopt;
  }
  if (std::optional<std::string> pair = largeParameter(text))
    return "'" + *pair + "' in '" + text +
           "' is too large; numbers are at most " +
           std::to_string(std::numeric_limits<int64_t>::max());
  auto choice = parseFamily(text);
  if (auto *fault = std::get_if<Fault>(&choice))
    return describe(*fault);
  choices.push_back(std::get<FamilyChoice>(choice));
  return std::nullopt;
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
    if (std::optional<std::string> fault = choose(text, request.choices))
      return reportUsage(*fault);
  request.window = windowRequest(arguments);
  request.costsPath = arguments.text("costs");
  request.problemOutput = arguments.text("problem-output");
  if (int code = checkOutputs(inputFiles(arguments, {"costs"}),
                              {{"--problem-output", request.problemOutput}}))
    return code;
  Interrupt interrupt;
  return simulateFile(request);
}

} // namespace

const Command &simulateCommand() {
  static const Command command = {
      "simulate",
      "predict time and memory of schedules",
      simulateOptions(),
      {"FILE [--family NAME]... [--timeline | --explain] [--json] [OPTIONS]"},
      {"rondo simulate problem.json --family kfkb:k=2 --timeline",
       "rondo simulate examples/gpt-small.mlir --timeline",
       "rondo simulate examples/gpt-small.mlir --explain",
       "rondo simulate problems.jsonl --family all --json > schedules.jsonl"},
      "families",
      printFamilies,
      run};
  return command;
}

} // namespace rondo::driver
