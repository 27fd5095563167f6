//===- Comparison.cpp - Schedules of one problem side by side -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/Comparison.h"

#include "kinds/Counts.h"
#include "reports/Explanation.h"
#include "reports/Figures.h"
#include "reports/Table.h"
#include "reports/TextTimeline.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/simulate/Objective.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

#include <algorithm>

using namespace llvm;

namespace rondo {

namespace {

/// Schedules with more tasks are not lowered to measure communication.
constexpr int64_t maxLoweredTasks = 2000000;

/// `1.2 ms (3.4 %)`: how much longer an iteration takes than with free
/// communication, absolute and relative.
std::string exposedText(const std::optional<ExposedCommunication> &measured,
                        std::optional<int64_t> ExposedCommunication::*queues) {
  if (!measured)
    return "-";
  std::optional<int64_t> makespan = (*measured).*queues;
  if (!makespan)
    return "deadlock";
  int64_t exposed = *makespan - measured->freeNs;
  if (exposed == 0)
    return "0 ns";
  return formatNs(exposed) + " (" +
         formatPercent(double(exposed) / double(*makespan)) + ")";
}

/// When a program ends, or that it does not.
std::string endText(const std::optional<ExposedCommunication> &measured,
                    std::optional<int64_t> ExposedCommunication::*queues) {
  if (!measured)
    return "-";
  const std::optional<int64_t> makespan = (*measured).*queues;
  return makespan ? formatNs(*makespan) : "deadlock";
}

std::string quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text)
    result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

const char *summaryOf(const Bound &bound) {
  for (const BoundArgument &argument : boundArguments())
    if (StringRef(argument.name) == bound.name)
      return argument.summary;
  return "";
}

} // namespace

Comparison::Comparison(const Problem &problem, Style style,
                       ComparisonOutput output)
    : problem(problem), style(style), output(std::move(output)) {}

void Comparison::showArenas(const PlanFigures &of) {
  figures = &of;
  if (of.declaresWeights)
    plan = &of;
}

bool Comparison::needsTimes() const {
  return style == Style::Timeline || style == Style::Explained ||
         style == Style::ExplainedJson || bound;
}

/// `[6, 4, 2]` for few ranks, the extremes for many.
std::string Comparison::peakText(const std::vector<int64_t> &peaks) const {
  auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
  if (!allRanks && bound) {
    auto first = std::max_element(peaks.begin(), peaks.end());
    return formatBytes(*first) + " (rank " +
           std::to_string(first - peaks.begin()) + ")";
  }
  if (allRanks || peaks.size() <= 8) {
    std::string text;
    for (int64_t bytes : peaks)
      text += (text.empty() ? "" : ", ") + formatBytes(bytes);
    return text;
  }
  if (*least == *most)
    return formatBytes(*most) + " each";
  auto extreme = [&](auto it) {
    return formatBytes(*it) + " (rank " + std::to_string(it - peaks.begin()) +
           ")";
  };
  return extreme(least) + " to " + extreme(most);
}

std::string Comparison::arenaText(const std::vector<int64_t> &arenas) const {
  if (arenas.empty())
    return "-";
  return allRanks ? arenasByRank(arenas, plan->devices)
                  : fullestArena(arenas, plan->devices);
}

double Comparison::ratioToBound(const Row &row) const {
  int64_t reached =
      problem.objective == Objective::Span ? row.spanNs : row.makespanNs;
  return bound->ns > 0 ? double(reached) / double(bound->ns) : 1;
}

void Comparison::addSearched(const SearchResult &result,
                             const json::SearchRecord &record,
                             StringRef limitedBy, bool ofAllRanks) {
  limitOption = limitedBy.str();
  allRanks = ofAllRanks;
  bound = result.bound;
  if (!result.schedule) {
    rows.push_back({"searched", "no schedule: " + describe(*result.fault)});
    missing.push_back({"searched", rows.back().why});
    return;
  }
  // Without weights a search checks only activations against the caps.
  if (figures && !plan) {
    JudgedSchedule found;
    found.name = "searched";
    found.schedule = result.schedule;
    addArena(found, problem, *figures);
    if (!found.schedule) {
      add(found);
      return;
    }
  }
  outcome.hasSchedule = true;
  searchedNs = objectiveOf(problem, result.simulation);
  Simulation timed = simulate(problem, *result.schedule, /*keepTimes=*/true);
  std::optional<std::vector<int64_t>> arena;
  if (plan && result.schedule->numActions() <= maxShownTasks)
    arena = arenaOf(*plan, problem, *result.schedule);
  addSchedule("searched", result.origin, *result.schedule, timed,
              arena.value_or(std::vector<int64_t>()), &record);
}

void Comparison::add(const JudgedSchedule &candidate) {
  outcome.hasSchedule |= candidate.schedule.has_value();
  outcome.isOverCap |= candidate.isOverCap();
  if (candidate.schedule) {
    if (auto &gathers = candidate.gathers; gathers && gathers->lack)
      output.note(problem.name + ": " + candidate.name + ": " +
                  describe(*gathers));
    isSearchBeaten |= searchedNs > objectiveOf(problem, candidate.simulation);
    addSchedule(candidate.name, candidate.family, *candidate.schedule,
                candidate.simulation, candidate.arenaBytes, nullptr,
                candidate.clipsByNorm);
    return;
  }
  const std::string why =
      (candidate.isOverCap() ? "does not fit: " : "no schedule: ") +
      candidate.reason;
  missing.push_back({candidate.name, why});
  outcome.refusals.push_back(refusalText(candidate.name, candidate.reason));
  if (!isLines())
    rows.push_back({candidate.name, why});
  else if (candidate.fault || !candidate.arenaBytes.empty())
    output.note(problem.name + ": " + candidate.name + ": " + candidate.reason);
  else
    others.push_back({candidate.name, candidate.reason});
}

void Comparison::addSchedule(const std::string &name, const std::string &family,
                             const Schedule &schedule, const Simulation &run,
                             const std::vector<int64_t> &arenaBytes,
                             const json::SearchRecord *record,
                             bool clipsByNorm) {
  const curves::Origin origin = record                ? curves::Origin::Search
                                : name.front() == '@' ? curves::Origin::File
                                                      : curves::Origin::Family;
  Row row{name,           "",         origin,
          run.makespanNs, run.spanNs, run.bubble,
          run.peakBytes,  arenaBytes, std::nullopt};
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    row.trafficBytes = std::max(row.trafficBytes,
                                countGathers(problem, schedule.rank(r)).bytes);
  // Programs have no micro-batches that differ.
  if (bound && !problem.isUneven() && schedule.numActions() <= maxLoweredTasks)
    row.communication = measureCommunication(problem, schedule, run);
  if (style == Style::Json) {
    json::ComparisonRecord comparison;
    if (bound) {
      comparison.lowerBoundNs = bound->ns;
      comparison.bound = bound->name;
    }
    if (row.communication) {
      auto exposed = [&](std::optional<int64_t> makespan) {
        if (makespan)
          *makespan -= row.communication->freeNs;
        return makespan;
      };
      comparison.exposedNs = exposed(row.communication->perPairNs);
      comparison.exposedInOneQueueNs = exposed(row.communication->perRankNs);
    }
    json::writeSchedule(output.os, problem, schedule, run, family, record,
                        bound ? &comparison : nullptr, /*overlap=*/{},
                        clipsByNorm);
    output.os << "\n";
  }
  if (style == Style::ExplainedJson)
    Explanation(problem, name, schedule, run, output.interrupt)
        .writeJson(output.os);
  if (style == Style::Explained) {
    raw_string_ostream os(details);
    os << "\n";
    Explanation(problem, name, schedule, run, output.interrupt).writeText(os);
  }
  if (style == Style::Timeline)
    details += "\n" + name + "\n" +
               renderTimeline(problem, layOut(problem, schedule, run),
                              output.width, output.hasColors);
  rows.push_back(std::move(row));
}

void Comparison::writeTable() const {
  output.os << titleOf(problem) << "\n";
  if (bound)
    output.os << "lower bound of the " << objectiveName(problem) << ": "
              << formatNs(bound->ns) << " (" << printedBound(bound->name)
              << ", " << summaryOf(*bound) << ")\n";
  Table table;
  std::vector<std::string> head;
  if (bound)
    head = {"schedule", "makespan",
            "to bound", "span",
            "bubble",   allRanks ? "peak memory by rank" : "peak memory",
            "exposed",  "exposed in one queue"};
  else
    head = {"family", "makespan", "span", "bubble", "peak memory by rank"};
  if (plan)
    head.push_back(allRanks ? "arena by rank" : "arena");
  if (problem.replicas.areSharded())
    head.push_back("traffic");
  table.add(std::move(head));
  for (const Row &row : rows) {
    if (!row.why.empty()) {
      table.add({row.name, row.why});
      continue;
    }
    std::vector<std::string> cells = {
        row.name, formatNs(row.makespanNs), formatNs(row.spanNs),
        formatPercent(row.bubble), peakText(row.peakBytes)};
    if (bound) {
      std::string ratio;
      raw_string_ostream(ratio) << format("%.3f", ratioToBound(row));
      cells.insert(cells.begin() + 2, ratio);
      cells.push_back(
          exposedText(row.communication, &ExposedCommunication::perPairNs));
      cells.push_back(
          exposedText(row.communication, &ExposedCommunication::perRankNs));
    }
    if (plan)
      cells.push_back(arenaText(row.arenaBytes));
    if (problem.replicas.areSharded())
      cells.push_back(formatBytes(row.trafficBytes));
    table.add(std::move(cells));
  }
  table.print(output.os);
  if (hasQueues)
    writeQueues();
  output.os << details;
}

void Comparison::writeQueues() const {
  output.os << "\nwhen a step ends, by the client's queues of messages\n"
            << "  rounds: one in-order queue a rank, messages in one order for "
               "all ranks: torch-csv and torch-csv-comms in PyTorch, "
               "torchtitan, DeepSpeed, Megatron Core, rondo.run\n"
            << "  early, a pair: each message as soon as it can be sent, one "
               "queue a directed pair of ranks: gloo, Rondo's runtime\n"
            << "  early, a rank: the same order in one in-order queue a rank: "
               "NCCL with one communicator\n";
  Table table;
  table.add({"schedule", "rounds", "early, a pair", "early, a rank"});
  for (const Row &row : rows)
    if (row.why.empty())
      table.add(
          {row.name,
           endText(row.communication, &ExposedCommunication::perRankNs),
           endText(row.communication, &ExposedCommunication::perPairNs),
           endText(row.communication, &ExposedCommunication::ownPerRankNs)});
  table.print(output.os);
}

const char *csvHead() {
  return "problem,schedule,makespan_ns,span_ns,bubble,peak_memory_bytes,"
         "lower_bound_ns,bound,ratio_to_bound,free_communication_ns,"
         "lowered_ns,lowered_in_one_queue_ns,why_not\n";
}

void Comparison::writeCsv() const {
  for (const Row &row : rows) {
    output.os << quoted(problem.name) << "," << quoted(row.name) << ",";
    if (!row.why.empty()) {
      output.os << ",,,,,,,,,," << quoted(row.why) << "\n";
      continue;
    }
    output.os << row.makespanNs << "," << row.spanNs << ","
              << format("%.6f", row.bubble) << ",";
    if (allRanks)
      output.os << quoted(join(
          map_range(row.peakBytes, [](int64_t b) { return std::to_string(b); }),
          " "));
    else
      output.os << *std::max_element(row.peakBytes.begin(),
                                     row.peakBytes.end());
    output.os << ",";
    if (bound)
      output.os << bound->ns << "," << bound->name << ","
                << format("%.6f", ratioToBound(row)) << ",";
    else
      output.os << ",,,";
    if (row.communication) {
      output.os << row.communication->freeNs << ",";
      if (row.communication->perPairNs)
        output.os << *row.communication->perPairNs;
      output.os << ",";
      if (row.communication->perRankNs)
        output.os << *row.communication->perRankNs;
      output.os << ",\n";
    } else {
      output.os << ",,,\n";
    }
  }
}

/// With JSON lines, a single note lists the families that do not apply.
void Comparison::noteOthers() const {
  if (others.size() == 1)
    return output.note(problem.name + ": " + others[0].name + ": " +
                       others[0].reason);
  if (others.empty())
    return;
  auto names = map_range(others, [](const Other &other) { return other.name; });
  output.note(problem.name + ": " + Twine(others.size()) +
              " families do not apply: " + join(names, ", ") +
              "; for the reasons, leave out --json");
}

ComparisonOutcome Comparison::finish() {
  // A search tries every family if it has the time.
  if (isSearchBeaten)
    output.note(problem.name +
                ": the search ended before it tried a schedule that is "
                "better here; raise " +
                limitOption);
  noteOthers();
  if (style == Style::Csv)
    writeCsv();
  else if (!isLines())
    writeTable();
  if (!outcome.hasSchedule && outcome.isOverCap)
    output.note(problem.name +
                ": none of these fits, but an order with fewer micro-batches "
                "in flight may: `rondo search` and `rondo compare` search for "
                "one; one micro-batch at a time holds " +
                peakText(leastActivationBytes(problem)));
  return outcome;
}

curves::Curve Comparison::curve() const {
  curves::Curve curve;
  curve.title = titleOf(problem);
  curve.time = objectiveName(problem);
  const bool isSpan = problem.objective == Objective::Span;
  for (const Row &row : rows)
    if (row.why.empty())
      curve.points.push_back(
          {row.name, row.origin,
           *std::max_element(row.peakBytes.begin(), row.peakBytes.end()),
           isSpan ? row.spanNs : row.makespanNs});
  curve.missing = missing;
  if (bound) {
    curve.boundNs = bound->ns;
    curve.bound = bound->name;
  }
  const std::vector<int64_t> &caps = problem.memoryCaps;
  if (!caps.empty() && caps.front() != noMemoryCap &&
      all_of(caps, [&](int64_t cap) { return cap == caps.front(); }))
    curve.capBytes = caps.front();
  return curve;
}

ComparisonOutcome Comparison::infeasible(const std::string &why) {
  if (isLines()) {
    json::writeInfeasible(output.os, problem, why);
    output.os << "\n";
  } else if (style == Style::Csv) {
    rows.push_back({"", why});
    writeCsv();
  }
  return {false, true, true};
}

} // namespace rondo
