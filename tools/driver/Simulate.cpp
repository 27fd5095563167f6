//===- Simulate.cpp - rondo simulate --------------------------------------===//

#include "tools/driver/Simulate.h"

#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo::driver {

namespace {

cl::SubCommand simulate("simulate", "time and memory of schedules");

cl::opt<std::string> inputPath(cl::Positional, cl::sub(simulate),
                               cl::cat(category), cl::desc("FILE"));
cl::list<std::string>
    familyTexts("family", cl::sub(simulate), cl::cat(category),
                cl::value_desc("NAME"),
                cl::desc("a family such as 1f1b or kfkb:k=2, or all; may be "
                         "given several times"));
cl::opt<bool> withTimeline("timeline", cl::sub(simulate), cl::cat(category),
                           cl::desc("print each schedule over time as text"));
cl::opt<bool> asJson("json", cl::sub(simulate), cl::cat(category),
                     cl::desc("print one rondo-schedule/1 line a family and "
                              "nothing else"));

cl::opt<std::string>
    costsPath("costs", cl::sub(simulate), cl::cat(category),
              cl::value_desc("FILE"),
              cl::desc("measured times of the stages of a .mlir file "
                       "(rondo-costs/1)"));
cl::opt<std::string>
    problemOutput("problem-output", cl::sub(simulate), cl::cat(category),
                  cl::value_desc("FILE"),
                  cl::desc("also write the plans of a .mlir file as "
                           "rondo-problem/1"));

void printFamilies(raw_ostream &os) {
  os << "families:\n";
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

/// Adds the families that `text` asks for. What is wrong with it, or nothing.
std::optional<std::string> choose(const std::string &text,
                                  std::vector<FamilyChoice> &choices) {
  if (text == "all") {
    append_range(choices, allFamilies());
    return std::nullopt;
  }
  auto choice = parseFamily(text);
  if (auto *fault = std::get_if<std::string>(&choice))
    return *fault;
  choices.push_back(std::get<FamilyChoice>(choice));
  return std::nullopt;
}

int run() {
  if (inputPath.empty())
    return reportUsage("simulate needs a file");
  if (asJson && withTimeline)
    return reportUsage("--timeline is text and does not go with --json");
  Style style = asJson         ? Style::Json
                : withTimeline ? Style::Timeline
                               : Style::Table;
  std::vector<FamilyChoice> choices;
  for (const std::string &text : familyTexts)
    if (std::optional<std::string> fault = choose(text, choices))
      return reportUsage(*fault);
  Interrupt interrupt;
  return simulateFile({inputPath, choices, style, costsPath, problemOutput});
}

} // namespace

const Command &simulateCommand() {
  static const Command command = {
      &simulate, "FILE [--family NAME]... [--timeline | --json] [OPTIONS]",
      "  rondo simulate problem.json --family kfkb:k=2 --timeline\n"
      "  rondo simulate examples/gpt-small.mlir --timeline\n"
      "  rondo simulate problems.jsonl --family all --json > schedules.jsonl\n",
      printFamilies, run};
  return command;
}

} // namespace rondo::driver
