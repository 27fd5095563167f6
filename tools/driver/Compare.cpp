//===- Compare.cpp - rondo compare ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/JudgedSchedule.h"
#include "planning/PlanArenas.h"
#include "plans/PlanFactory.h"
#include "reports/UnitTable.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Session.h"
#include "tools/driver/Simulate.h"
#include "tools/driver/Terminal.h"
#include "tools/driver/Windows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define OPTIONS "tools/driver/Compare.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Prints a table; whether a unit fits.
ComparisonOutcome print(const UnitTable &table, const std::string &name,
                        Style style) {
  ComparisonOutcome outcome;
  if (!table.hasPlans()) {
    for (const auto &[shape, why] : table.withoutPlan())
      reportNote(name + " " + shape + ": " + why);
    reportError(name + ": no plan has any of these chunks; see the notes");
    return outcome;
  }
  if (style == Style::Csv)
    table.writeCsv(outs());
  else
    table.writeText(outs());
  outcome.hasSchedule = table.best().has_value();
  if (!outcome.hasSchedule)
    reportError(name + ": " + table.whyNone());
  return outcome;
}

/// One table over the chunks of the file's one plan.
int compareChunks(const SimulateRequest &request, const ShapeRequest &wanted,
                  const FamilyChoice &choice) {
  Session session;
  pipe::PlanOp base;
  if (int code = readBasePlan(session, request.path, base))
    return code;
  pipe::PlanFactory factory(base);
  const PlanSpace space = pipe::shapeSpace(factory);
  ShapeRequest among = wanted;
  among.placements = "linear,interleaved";
  if (among.chunks.empty() || among.chunks == "auto") {
    // With more, chunks are short and messages are many.
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
  return exitCodeOf({print(table, base.getSymName().str(), request.style)});
}

int compareUnits(const SimulateRequest &request, ShapeRequest shapes,
                 const FamilyChoice &choice) {
  const bool isPlan = isModuleFile(request.path),
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
  Session session;
  if (int code = session.load(request.path, request.costsPath))
    return code;
  std::vector<ComparisonOutcome> outcomes;
  const int64_t wanted = choice.arguments.at("v");
  for (auto [number, problem] : enumerate(session.problems)) {
    if (const int64_t chunks = chunksOf(problem);
        wanted != 0 && wanted != chunks) {
      reportError(problem.name + ": " +
                  describe(makeFault<FaultKind::ChunksDiffer>(
                      choice.family->name, wanted, chunks)));
      outcomes.emplace_back();
      continue;
    }
    UnitTable table(problem.name, choice);
    table.add(problem, session.figuresOf(number));
    outcomes.push_back(print(table, problem.name, request.style));
    if (Interrupt::happened())
      return Interrupted;
  }
  return exitCodeOf(outcomes);
}

/// Compares the searched schedule and families on plans of other shapes.
int comparePlans(const SimulateRequest &request, const ShapeRequest &wanted) {
  Session session;
  pipe::PlanOp base;
  if (int code = readBasePlan(session, request.path, base))
    return code;
  std::vector<PlanShape> shapes;
  if (int code = chooseShapes(wanted, base, shapes))
    return code;
  pipe::PlanFactory factory(base);
  std::vector<PlanCandidate> candidates = makeCandidates(
      pipe::shapeSpace(factory), shapes, request.search->objective, Deadline());
  if (request.style == Style::Csv)
    outs() << csvHead();
  const auto without = planless(candidates);
  std::vector<ComparisonOutcome> outcomes;
  for (PlanCandidate &candidate : candidates) {
    const std::string name =
        base.getSymName().str() + " " + candidate.shape.text();
    if (!candidate.plan) {
      if (auto said = without.find(&candidate); said != without.end())
        reportNote(base.getSymName() + " " + said->second + ": " +
                   reasonOf(candidate, candidates));
      continue;
    }
    if (!candidate.isOpen()) {
      reportNote(name + ": " + reasonOf(candidate, candidates));
      continue;
    }
    candidate.plan->problem.name = name;
    Comparison comparison(candidate.plan->problem, request.style,
                          comparisonOutput());
    comparison.showArenas(candidate.plan->figures);
    addSearched(comparison, request, candidate.plan->problem,
                &candidate.plan->figures);
    for (const FamilyChoice &choice : request.choices) {
      JudgedSchedule made = evaluate(
          choice, candidate.plan->problem, comparison.needsTimes(),
          PlanArenas(candidate.plan->figures, candidate.plan->problem));
      addArena(made, candidate.plan->problem, candidate.plan->figures);
      comparison.add(made);
    }
    outcomes.push_back(comparison.finish());
    if (request.curves)
      request.curves->push_back(comparison.curve());
    if (Interrupt::happened())
      return Interrupted;
  }
  if (outcomes.empty()) {
    outs().flush();
    base.emitError() << "no plan has any of these shapes; see the notes";
    return Failure;
  }
  return exitCodeOf(outcomes);
}

int compare(const SimulateRequest &request, const ShapeRequest &shapes) {
  if (shapes.isEmpty())
    return simulateFile(request);
  if (!isModuleFile(request.path))
    return reportUsage(
        "--placement, --chunks and --microbatches need a .mlir file; the "
        "placement of a rondo-problem is fixed");
  if (!request.costsPath.empty())
    return reportUsage("--costs has times of the plan's stages; other plans "
                       "need times of the layers");
  return comparePlans(request, shapes);
}

int run(const Arguments &arguments) {
  SimulateRequest request;
  request.path = arguments.file();
  if (request.path.empty())
    return reportUsage("compare needs a file");
  const bool asJson = arguments.has("json"), asCsv = arguments.has("csv");
  if (asJson && asCsv)
    return reportUsage("--json and --csv cannot be combined");
  std::vector<FamilyChoice> units;
  for (const std::string &text : arguments.all("family")) {
    if (std::optional<std::string> fault =
            chooseFamilies(text, request.choices))
      return reportUsage(*fault);
    if (request.choices.back().hasAuto()) {
      units.push_back(std::move(request.choices.back()));
      request.choices.pop_back();
    }
  }
  if (!units.empty() && (!request.choices.empty() || units.size() > 1))
    return reportUsage("--family with auto prints a table of its own; leave "
                       "out the other families");
  if (request.choices.empty())
    request.choices = allFamilies();
  request.style = asJson ? Style::Json : asCsv ? Style::Csv : Style::Table;
  request.costsPath = arguments.text("costs");
  request.search = searchRequest(arguments);
  request.allRanks = arguments.has("all-ranks");
  request.queues = arguments.has("queues");
  if (request.queues && (asJson || asCsv))
    return reportUsage("--queues is for the table; --json and --csv have the "
                       "times of both queues already");
  const std::string output = arguments.text("output");
  void (*const draw)(raw_ostream &, ArrayRef<curves::Curve>) =
      StringRef(output).ends_with(".svg")    ? curves::writeSvg
      : StringRef(output).ends_with(".html") ? curves::writeHtml
                                             : nullptr;
  if (!output.empty() && !draw)
    return reportUsage("--output is '" + output +
                       "'; its ending says what it is: .svg or .html");
  if (int code = checkOutputs(inputFiles(arguments, {"costs"}),
                              {{"--output", output}}))
    return code;
  if (int code = reportUnwritable(output))
    return code;
  if (!units.empty()) {
    if (asJson || draw)
      return reportUsage("--family with auto prints a table, as text or as "
                         "--csv; it has no --json and no picture");
    Interrupt interrupt;
    return compareUnits(request, shapeRequest(arguments), units.front());
  }
  std::vector<curves::Curve> curves;
  if (draw)
    request.curves = &curves;
  Interrupt interrupt;
  const int code = compare(request, shapeRequest(arguments));
  // Without a schedule there is nothing to draw, which has been reported.
  if (!draw || none_of(curves, [](const curves::Curve &curve) {
        return !curve.points.empty();
      }))
    return code;
  if (int failure =
          writeOrReport(output, [&](raw_ostream &os) { draw(os, curves); }))
    return failure;
  if (!asJson && !asCsv)
    reportWritten(output, "time over memory of " +
                              countOf(int64_t(curves.size()), "problem"));
  return code;
}

} // namespace

const Command &compareCommand() {
  static const Command command{
      50,
      "compare",
      "compare all families and a searched schedule",
      optionTable(),
      {"FILE [--family NAME]... [--json | --csv] [-o FILE] [OPTIONS]"},
      {"rondo compare examples/gpt-small.mlir --effort 1000",
       "rondo compare examples/gpt-small.mlir -o curves.html",
       "rondo compare examples/gpt-small.mlir --placement linear,interleaved",
       "rondo compare examples/gpt-sharded.mlir --family "
       "blockwise:u=auto,v=auto",
       "rondo compare problems.jsonl --csv > figures.csv"},
      "which command to take",
      printPlanCommands,
      run};
  return command;
}

} // namespace rondo::driver
