//===- UnitTable.cpp - Units and chunks side by side ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/UnitTable.h"

#include "planning/PlanArenas.h"
#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>

using namespace llvm;

namespace rondo {

int64_t chunksOf(const Problem &problem) {
  const int32_t rank = problem.rankOf(0);
  return count_if(problem.replicas,
                  [&](const Replica &replica) { return replica.rank == rank; });
}

namespace {

/// The part of a unit's moves that tasks hide, or `-` if nothing is moved.
std::string partText(Beside beside, int64_t unit) {
  if (beside.moveNs == 0)
    return "-";
  return beside.taskNs == 0 ? "all" : formatPercent(beside.partOf(unit));
}

const char *wordOf(UnitLimit limit) {
  switch (limit) {
  case UnitLimit::Nothing:
    return "nothing";
  case UnitLimit::Bubble:
    return "bubble";
  case UnitLimit::Traffic:
    return "traffic";
  case UnitLimit::Memory:
    return "memory";
  }
  return "";
}

} // namespace

void UnitTable::add(const Problem &problem, const PlanFigures *figures) {
  const int64_t unit = choice.arguments.at("u");
  std::vector<int64_t> units = unitsWorthTrying(problem);
  const int64_t chunks = chunksOf(problem);
  // 0 is the number of ranks that a chunk is on.
  if (unit != autoArgument)
    units = {std::min<int64_t>(
        problem.microbatches,
        unit > 0 ? unit : std::max<int64_t>(1, problem.numStages() / chunks))};
  std::vector<UnitCandidate> rated = rateUnits(
      problem, units, figures ? PlanArenas(*figures, problem) : PlanArenas());
  for (UnitCandidate &candidate : rated) {
    candidates.push_back(std::move(candidate));
    of.push_back(plans.size());
  }
  plans.push_back({chunks, &problem, figures, hidingOf(problem)});
}

std::string UnitTable::limitText(size_t number) const {
  const UnitCandidate &candidate = candidates[number];
  if (candidate.missingBytes > 0)
    return "memory: rank " + std::to_string(candidate.missingOn) + " lacks " +
           formatBytes(candidate.missingBytes);
  return wordOf(candidate.limit());
}

/// Memory of the rank with the least left: its arena, or without arenas its
/// state and the activations held.
std::string UnitTable::memoryText(size_t number) const {
  const UnitCandidate &candidate = candidates[number];
  const Problem &problem = *plans[of[number]].problem;
  if (!candidate.arenaBytes.empty())
    return fullestArena(candidate.arenaBytes,
                        plans[of[number]].figures->devices);
  std::vector<int64_t> held = candidate.peakBytes, room = problem.memoryCaps;
  for (auto [rank, device] : enumerate(problem.devices)) {
    held[rank] += device.stateBytes;
    room[rank] = device.deviceBytes;
  }
  return fullestArena(held, room);
}

std::vector<std::string> UnitTable::rowOf(size_t number, bool isBest) const {
  const UnitCandidate &candidate = candidates[number];
  const Chunked &plan = plans[of[number]];
  std::vector<std::string> row = {std::to_string(plan.chunks),
                                  std::to_string(candidate.unit)};
  if (candidate.fault) {
    row.push_back("no schedule: " + describe(*candidate.fault));
    return row;
  }
  const auto ofMakespan = [&](int64_t ns) {
    return formatPercent(candidate.makespanNs > 0
                             ? double(ns) / double(candidate.makespanNs)
                             : 0);
  };
  row.insert(row.end(),
             {formatNs(candidate.makespanNs), ofMakespan(candidate.idleNs),
              ofMakespan(candidate.exposedNs), memoryText(number),
              formatBytes(candidate.trafficBytes),
              partText(plan.hiding.gather, candidate.unit),
              partText(plan.hiding.reduction, candidate.unit),
              limitText(number) + (isBest ? ", chosen" : "")});
  return row;
}

void UnitTable::writeText(raw_ostream &os) const {
  const std::optional<size_t> best = this->best();
  os << name << ": " << choice.text() << ", "
     << microbatchesText(*plans.front().problem) << "\n";
  Table table;
  table.add({"v", "u", "makespan", "bubble", "exposed", "memory", "traffic",
             "gather of u F", "reduction of u W", "limit"});
  for (size_t number = 0; number < candidates.size(); ++number)
    table.add(rowOf(number, number == best));
  for (const auto &[shape, why] : missing)
    table.add({shape, "-", why});
  table.print(os);
  for (const Chunked &plan : plans)
    if (const int64_t least = plan.hiding.leastUnit(); least > 1)
      os << "v=" << plan.chunks << ": "
         << (least == noUnit ? "no unit hides all gathers and reductions"
                             : "gathers and reductions hide in units of " +
                                   std::to_string(least) + " or more")
         << "\n";
  if (!best)
    return;
  // The fastest candidate that lacks memory.
  std::optional<size_t> faster;
  for (size_t number = 0; number < candidates.size(); ++number)
    if (candidates[number].missingBytes > 0 &&
        candidates[number].makespanNs <
            candidates[faster.value_or(*best)].makespanNs)
      faster = number;
  const UnitCandidate &chosen = candidates[*best];
  if (faster && chosen.fits())
    os << "memory is in the way of v=" << plans[of[*faster]].chunks
       << ",u=" << candidates[*faster].unit << ", which takes "
       << formatPercent(1 - double(candidates[*faster].makespanNs) /
                                double(chosen.makespanNs))
       << " less\n";
}

void UnitTable::writeCsv(raw_ostream &os) const {
  const std::optional<size_t> best = this->best();
  for (size_t number = 0; number < candidates.size(); ++number) {
    const UnitCandidate &one = candidates[number];
    const Chunked &plan = plans[of[number]];
    os << '"' << name << "\"," << plan.chunks << "," << one.unit << ",";
    if (one.fault) {
      os << ",,,,,,,,,,,no schedule,0\n";
      continue;
    }
    os << one.makespanNs << "," << one.idleNs << "," << one.exposedNs << ","
       << *max_element(one.peakBytes) << ",";
    if (!one.arenaBytes.empty())
      os << *max_element(one.arenaBytes);
    os << "," << one.trafficBytes << "," << one.gathers << "," << one.reductions
       << "," << format("%.6f", plan.hiding.gather.partOf(one.unit)) << ","
       << format("%.6f", plan.hiding.reduction.partOf(one.unit)) << ","
       << one.missingBytes << "," << wordOf(one.limit()) << ","
       << (number == best) << "\n";
  }
}

std::optional<size_t> UnitTable::best() const {
  const std::optional<size_t> best = bestUnit(candidates);
  return best && candidates[*best].fits() ? best : std::nullopt;
}

std::string UnitTable::whyNone() const {
  const std::optional<size_t> best = bestUnit(candidates);
  if (!best)
    return "no unit of blockwise applies; see the table";
  return "no unit of blockwise fits; the closest lacks " +
         formatBytes(candidates[*best].missingBytes) + " on rank " +
         std::to_string(candidates[*best].missingOn) +
         "; try more memory, smaller micro-batches or other chunks";
}

} // namespace rondo
