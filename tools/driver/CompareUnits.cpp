//===- CompareUnits.cpp - Units and chunks side by side -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/CompareUnits.h"

#include "planning/gathers/Units.h"
#include "plans/PlanFactory.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"
#include "tools/driver/Table.h"
#include "tools/driver/Windows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Units of one plan among the candidates of a table.
struct Chunked {
  int64_t chunks = 0;
  const Problem *problem = nullptr;
  /// Null for a problem without a plan.
  const PlanFigures *figures = nullptr;
  Hiding hiding;
};

/// The candidates of a table; `of` has the plan of each.
class UnitTable {
public:
  UnitTable(std::string name, const FamilyChoice &choice)
      : name(std::move(name)), choice(choice) {}

  void add(const Problem &problem, const PlanFigures *figures);
  /// A number of chunks without a plan.
  void addMissing(const std::string &shape, const std::string &why) {
    missing.push_back({shape, why});
  }
  Outcome print(Style style) const;

private:
  std::vector<std::string> rowOf(size_t number, bool isBest) const;
  std::string limitText(size_t number) const;
  std::string memoryText(size_t number) const;
  void printText(std::optional<size_t> best) const;
  void printCsv(std::optional<size_t> best) const;

  const std::string name;
  const FamilyChoice &choice;
  std::vector<Chunked> plans;
  std::vector<UnitCandidate> candidates;
  /// By candidate, into `plans`.
  std::vector<size_t> of;
  std::vector<std::pair<std::string, std::string>> missing;
};

int64_t chunksOf(const Problem &problem) {
  const int32_t rank = problem.rankOf(0);
  return count_if(problem.replicas,
                  [&](const Replica &replica) { return replica.rank == rank; });
}

std::string percent(double part) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * part);
  return text;
}

/// A part of what a unit hides behind, or `-` where nothing is moved.
std::string partText(Beside beside, int64_t unit) {
  if (beside.moveNs == 0)
    return "-";
  return beside.taskNs == 0 ? "all" : percent(beside.partOf(unit));
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

/// Of the rank with the least room: its arena, or state and what is held beside
/// it.
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
    return percent(candidate.makespanNs > 0
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

void UnitTable::printText(std::optional<size_t> best) const {
  outs() << name << ": " << choice.text() << ", "
         << microbatchesText(*plans.front().problem) << "\n";
  Table table;
  table.add({"v", "u", "makespan", "bubble", "exposed", "memory", "traffic",
             "gather of u F", "reduction of u W", "limit"});
  for (size_t number = 0; number < candidates.size(); ++number)
    table.add(rowOf(number, number == best));
  for (const auto &[shape, why] : missing)
    table.add({shape, "-", why});
  table.print(outs());
  for (const Chunked &plan : plans)
    if (const int64_t least = plan.hiding.leastUnit(); least > 1)
      outs() << "v=" << plan.chunks << ": "
             << (least == noUnit ? "no unit hides all gathers and reductions"
                                 : "gathers and reductions hide in units of " +
                                       std::to_string(least) + " or more")
             << "\n";
  if (!best)
    return;
  // What more memory would give.
  std::optional<size_t> faster;
  for (size_t number = 0; number < candidates.size(); ++number)
    if (candidates[number].missingBytes > 0 &&
        candidates[number].makespanNs <
            candidates[faster.value_or(*best)].makespanNs)
      faster = number;
  const UnitCandidate &chosen = candidates[*best];
  if (faster && chosen.fits())
    outs() << "memory is in the way of v=" << plans[of[*faster]].chunks
           << ",u=" << candidates[*faster].unit << ", which takes "
           << percent(1 - double(candidates[*faster].makespanNs) /
                              double(chosen.makespanNs))
           << " less\n";
}

void UnitTable::printCsv(std::optional<size_t> best) const {
  for (size_t number = 0; number < candidates.size(); ++number) {
    const UnitCandidate &one = candidates[number];
    const Chunked &plan = plans[of[number]];
    outs() << '"' << name << "\"," << plan.chunks << "," << one.unit << ",";
    if (one.fault) {
      outs() << ",,,,,,,,,,,no schedule,0\n";
      continue;
    }
    outs() << one.makespanNs << "," << one.idleNs << "," << one.exposedNs << ","
           << *max_element(one.peakBytes) << ",";
    if (!one.arenaBytes.empty())
      outs() << *max_element(one.arenaBytes);
    outs() << "," << one.trafficBytes << "," << one.gathers << ","
           << one.reductions << ","
           << format("%.6f", plan.hiding.gather.partOf(one.unit)) << ","
           << format("%.6f", plan.hiding.reduction.partOf(one.unit)) << ","
           << one.missingBytes << "," << wordOf(one.limit()) << ","
           << (number == best) << "\n";
  }
}

Outcome UnitTable::print(Style style) const {
  Outcome outcome;
  if (plans.empty()) {
    for (const auto &[shape, why] : missing)
      reportNote(name + " " + shape + ": " + why);
    reportError(name + ": no plan has any of these chunks; see the notes");
    return outcome;
  }
  const std::optional<size_t> best = bestUnit(candidates);
  const bool fits = best && candidates[*best].fits();
  if (style == Style::Csv)
    printCsv(fits ? best : std::nullopt);
  else
    printText(fits ? best : std::nullopt);
  outcome.hasSchedule = fits;
  if (!fits)
    reportError(name + ": no unit of blockwise " +
                (best ? "fits; the closest lacks " +
                            formatBytes(candidates[*best].missingBytes) +
                            " on rank " +
                            std::to_string(candidates[*best].missingOn) +
                            "; try more memory, smaller micro-batches or "
                            "other chunks"
                      : "applies; see the table"));
  return outcome;
}

/// One table over the chunks of the file's one plan.
static int compareChunks(const SimulateRequest &request,
                         const ShapeRequest &wanted,
                         const FamilyChoice &choice) {
  ModuleFile file;
  pipe::PlanOp base;
  if (int code = readBasePlan(file, request.path, base))
    return code;
  pipe::PlanFactory factory(base);
  const PlanSpace space = pipe::shapeSpace(factory);
  ShapeRequest among = wanted;
  among.placements = "linear,interleaved";
  if (among.chunks.empty() || among.chunks == "auto") {
    // Of more, chunks are short, and their messages many.
    constexpr int64_t maxChunks = 8;
    const int64_t most = std::clamp<int64_t>(
        space.layers / std::max<int64_t>(1, space.ranks), 1, maxChunks);
    among.chunks.clear();
    for (int64_t count = 1; count <= most; ++count)
      among.chunks += (among.chunks.empty() ? "" : ",") + std::to_string(count);
  }
  std::vector<PlanShape> shapes;
  if (int code = chooseShapes(among, base, shapes))
    return code;
  std::vector<PlanCandidate> candidates =
      makeCandidates(space, shapes, request.search->objective, Deadline());
  UnitTable table(base.getSymName().str(), choice);
  for (const PlanCandidate &candidate : candidates) {
    if (!candidate.isOpen()) {
      table.addMissing(std::to_string(candidate.shape.chunks),
                       reasonOf(candidate, candidates));
      continue;
    }
    table.add(candidate.plan->problem, &candidate.plan->figures);
    if (Interrupt::happened())
      return Interrupted;
  }
  return exitCodeOf({table.print(request.style)});
}

int compareUnits(const SimulateRequest &request, ShapeRequest shapes,
                 const FamilyChoice &choice) {
  const bool isPlan = StringRef(request.path).ends_with(".mlir"),
             choosesChunks = choice.arguments.at("v") == autoArgument;
  if (!choosesChunks && !shapes.isEmpty())
    return reportUsage("--chunks and --microbatches cut other plans, which "
                       "needs " +
                       Twine(choice.family->name) + ":v=auto");
  if (!shapes.placements.empty())
    return reportUsage(Twine(choice.family->name) +
                       " is for looped chunks alone; leave out --placement");
  if (choosesChunks && (!isPlan || !request.costsPath.empty()))
    return reportUsage("v=auto cuts the layers of a .mlir file, with the times "
                       "of the layers; a problem, or a plan with --costs, has "
                       "the chunks that it has");
  if (request.style == Style::Csv)
    outs() << "problem,v,u,makespan_ns,idle_ns,exposed_ns,peak_memory_bytes,"
              "arena_bytes,traffic_bytes,gathers,reductions,gather_of_unit,"
              "reduction_of_unit,missing_bytes,limit,chosen\n";
  if (choosesChunks)
    return compareChunks(request, shapes, choice);
  ModuleFile file;
  std::vector<Problem> problems;
  std::vector<PlanFigures> figures;
  if (int code = isPlan ? readPlans(file, request.path, request.costsPath,
                                    problems, figures)
                        : readProblems(request.path, problems))
    return code;
  std::vector<Outcome> outcomes;
  const int64_t wanted = choice.arguments.at("v");
  for (auto [number, problem] : enumerate(problems)) {
    if (const int64_t chunks = chunksOf(problem);
        wanted != 0 && wanted != chunks) {
      reportError(problem.name + ": " +
                  describe(makeFault<FaultKind::ChunksDiffer>(
                      choice.family->name, wanted, chunks)));
      outcomes.emplace_back();
      continue;
    }
    UnitTable table(problem.name, choice);
    table.add(problem, isPlan ? &figures[number] : nullptr);
    outcomes.push_back(table.print(request.style));
    if (Interrupt::happened())
      return Interrupted;
  }
  return exitCodeOf(outcomes);
}

} // namespace rondo::driver
