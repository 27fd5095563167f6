//===- Candidates.cpp - rondo candidates ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Imports.h"
#include "plans/AdaptiveSchedules.h"
#include "reports/Figures.h"
#include "reports/Table.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

#define OPTIONS "tools/driver/Candidates.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

std::string kOf(const Candidate &candidate) {
  return candidate.group > 0 ? std::to_string(candidate.group) : "-";
}

std::string microbatchesOf(const Candidate &candidate) {
  return (Twine(candidate.microbatches) + " of " + Twine(candidate.samples))
      .str();
}

/// Why a program does not have it, or what is to be said of one that it has.
std::string remarkOf(const CandidateTable &table, const Candidate &candidate) {
  switch (candidate.fate) {
  case Candidate::Fate::Kept:
    return "";
  case Candidate::Fate::NoMemory:
  case Candidate::Fate::OtherReductions:
    return describe(*candidate.fault, table.plans[candidate.plan].problem);
  case Candidate::Fate::Same:
    return "the order of @" + table.candidates[candidate.instead].name;
  case Candidate::Fate::NotNeeded:
    return "less than 1 % faster than the kept ones in every state";
  case Candidate::Fate::TooMany:
    return "there are enough (--candidates)";
  }
  return "";
}

/// `@k2_m8`, or what it is for one that is not in the module.
std::string nameOf(const CandidateTable &table, const Candidate &candidate) {
  const bool isKept = candidate.fate == Candidate::Fate::Kept;
  return (isKept ? "@" : "") + candidate.name;
}

void printTable(const CandidateTable &table, bool showsAll) {
  Table text;
  std::vector<std::string> header = {"schedule", "k", "micro-batches", "memory",
                                     "messages for"};
  for (const NetworkState &state : table.states)
    header.push_back(state.name);
  header.push_back("ada-grouper");
  text.add(header);
  auto add = [&](const Candidate &candidate) {
    std::vector<std::string> row = {
        nameOf(table, candidate), kOf(candidate), microbatchesOf(candidate),
        candidate.arenaBytes.empty()
            ? "-"
            : fullestArena(candidate.arenaBytes,
                           table.plans[candidate.plan].figures.devices),
        candidate.runs() ? table.states[candidate.placedFor].name : "-"};
    if (candidate.runs())
      for (auto [state, ns] : enumerate(candidate.timeNs)) {
        const bool isBest = &table.candidates[table.best[state]] == &candidate;
        row.push_back((isBest ? "*" : "") + formatNs(ns));
      }
    if (candidate.runs())
      row.push_back(candidate.isOnMemoryLimit ? "keeps" : "");
    if (std::string remark = remarkOf(table, candidate); !remark.empty())
      row.push_back(remark);
    text.add(std::move(row));
  };
  for (size_t place : table.kept)
    add(table.candidates[place]);
  if (showsAll)
    for (const Candidate &candidate : table.candidates)
      if (candidate.fate != Candidate::Fate::Kept)
        add(candidate);
  text.print(outs());
}

/// `not kept: 12 lack memory, 3 ...`.
void printSummary(const CandidateTable &table) {
  int64_t counts[6] = {};
  for (const Candidate &candidate : table.candidates)
    ++counts[static_cast<int>(candidate.fate)];
  std::string text;
  auto say = [&](Candidate::Fate fate, StringRef what) {
    if (const int64_t count = counts[static_cast<int>(fate)])
      text +=
          (text.empty() ? "" : ", ") + std::to_string(count) + " " + what.str();
  };
  say(Candidate::Fate::NotNeeded, "less than 1 % faster in every state");
  say(Candidate::Fate::Same, "with the order of another");
  say(Candidate::Fate::NoMemory, "without memory");
  say(Candidate::Fate::OtherReductions, "with other sums of gradients");
  say(Candidate::Fate::TooMany, "more than --candidates");
  outs() << "kept " << table.kept.size() << " of "
         << countOf(table.candidates.size(), "candidate")
         << (text.empty() ? "" : "; the others: " + text) << "\n";
  if (table.isCutShort)
    outs() << "time ended before all were tried; --time-limit-ms gives more\n";
  // A row for each range of states with the same best schedule.
  size_t from = 0;
  for (size_t state = 1; state <= table.states.size(); ++state) {
    if (state < table.states.size() && table.best[state] == table.best[from])
      continue;
    const Candidate &best = table.candidates[table.best[from]];
    outs() << "  " << table.states[from].name
           << (state - from > 1 ? " to " + table.states[state - 1].name : "")
           << ": @" << best.name;
    const int64_t written = table.candidates.front().timeNs[from];
    if (const int64_t ns = best.timeNs[from]; ns > 0 && ns < written)
      outs() << formatv(", {0:f1} % faster than @{1}",
                        100 * (double(written) / double(ns) - 1),
                        table.candidates.front().name);
    outs() << "\n";
    from = state;
  }
}

/// Prints the source of the times of each size of micro-batches.
void printCosts(const CandidateTable &table) {
  if (table.plans.size() == 1) {
    outs() << "costs: " << table.plans.front().costs.text() << "\n";
    return;
  }
  const Problem &written = table.plans.front().problem;
  const int64_t samples =
      table.candidates.front().samples * written.microbatches;
  std::map<int64_t, std::string> bySize;
  for (const SizedPlan &plan : table.plans)
    bySize[samples / plan.problem.microbatches] = plan.costs.text();
  outs() << "costs of micro-batches of\n";
  for (const auto &[size, text] : bySize)
    outs() << "  " << countOf(size, "sample") << ": " << text << "\n";
}

int run(const Arguments &arguments) {
  const std::string input = arguments.file();
  const std::string output = arguments.text("output");
  if (input.empty())
    return reportUsage("candidates needs a file");
  if (int code = checkOutputs(inputFiles(arguments, {"costs"}),
                              {{"--output", output}}))
    return code;
  const int64_t most = arguments.number("candidates", pipe::defaultCandidates);
  if (most < 2)
    return reportUsage("--candidates is " + Twine(most) +
                       "; it must be 2 or more");
  EmissionRequest request = emissionRequest(arguments);
  request.isAdaptive = true;
  Emission emission(request);
  if (int code = emission.read())
    return code;
  auto given = [&](StringRef option) {
    return arguments.has(option) ? std::optional(arguments.number(option, 0))
                                 : std::nullopt;
  };
  auto adaptive = pipe::AdaptiveAttr::get(
      emission.context(), most, given("memory"), given("time-limit-ms"),
      given("effort"), arguments.number("seed", 0));
  std::optional<CandidateTable> table;
  if (int code = emission.candidates(adaptive, table))
    return code;
  printTable(*table, arguments.has("all"));
  printSummary(*table);
  printCosts(*table);
  if (!output.empty()) {
    if (int code = writeOps(output, emission.module()))
      return code;
    reportWritten(output, countOf(table->kept.size(), "schedule") +
                              " and a pipe.executable");
  }
  return Interrupt::exitCode(Success);
}

} // namespace

const Command &candidatesCommand() {
  static const Command command{
      60,
      "candidates",
      "list schedules for a network that changes",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]"},
      {"rondo candidates examples/gpt-small.mlir",
       "rondo candidates examples/gpt-small.mlir --all --effort 1000",
       "rondo candidates examples/gpt-small.mlir -o adaptive.mlir"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
