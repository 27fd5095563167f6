//===- SearchCurve.cpp - rondo search --pareto ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Searching.h"

#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "reports/Table.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/search/MemoryCurve.h"
#include "schedule/simulate/Objective.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

using namespace llvm;

namespace rondo::driver {

int readCurveRequest(const Arguments &arguments, CurveRequest &request) {
  request.isAsked = arguments.has("pareto");
  request.points = arguments.number("points", request.points);
  request.asJson = arguments.has("json");
  request.output = arguments.text("output", "-");
  if (!request.isAsked) {
    for (const char *option : {"points", "json"})
      if (arguments.has(option))
        return reportUsage("--" + Twine(option) + " needs --pareto");
    return Success;
  }
  for (const char *option :
       {"robust", "placement", "chunks", "microbatches", "iterations", "policy",
        "most-delay", "problem-output"})
    if (arguments.has(option))
      return reportUsage("--pareto and --" + Twine(option) +
                         " cannot be combined: the curve is of one problem as "
                         "it is written");
  if (isModuleFile(request.output))
    return reportUsage("--pareto writes rondo-schedule lines, so its output "
                       "cannot be a .mlir file: " +
                       request.output);
  return Success;
}

static std::string upTo(int64_t capBytes) {
  return capBytes == noMemoryCap ? "any" : formatBytes(capBytes);
}

/// The best objective of a curve under a cap, as text.
static std::string bestUnder(const Problem &problem, const MemoryCurve &curve,
                             int64_t capBytes) {
  std::string best = "none fits";
  for (const CurvePoint &point : curve.points)
    if (point.capBytes <= capBytes)
      best = formatNs(objectiveOf(problem, point.result.simulation));
  return best;
}

/// `plain`: the curve of the problem without copies, if its stages may copy.
static void printTable(const Problem &problem, const MemoryCurve &curve,
                       const std::optional<MemoryCurve> &plain) {
  outs() << problem.name << ": " << objectiveName(problem)
         << " by the most memory that a rank may hold\n";
  Table table;
  std::vector<std::string> head = {"  cap", objectiveName(problem),
                                   "no less than", "up to", ""};
  if (plain)
    head.push_back("without copies");
  table.add(std::move(head));
  for (const CurvePoint &point : curve.points) {
    const SearchResult &result = point.result;
    const int64_t reached = objectiveOf(problem, result.simulation);
    std::vector<std::string> row = {
        "  " + formatBytes(point.capBytes), formatNs(reached),
        formatNs(result.bound.ns) + " (" + printedBound(result.bound.name) +
            ")",
        upTo(point.boundUpToBytes),
        gapText(result.provenOptimal, reached, result.bound.ns)};
    if (plain)
      row.push_back(bestUnder(problem, *plain, point.capBytes));
    table.add(std::move(row));
  }
  table.print(outs());
  outs() << "  no schedule fits below " << formatBytes(curve.leastBytes)
         << "\n";
}

/// A line holds for the problem itself, whose bound is that of the largest cap;
/// what is known of its own cap is in the provenance.
static void appendLines(const Problem &problem, const SearchRequest &search,
                        const MemoryCurve &curve, std::string &lines) {
  raw_string_ostream os(lines);
  for (const CurvePoint &point : curve.points) {
    SearchResult result = point.result;
    // The waits of actions depend on the cap.
    if (result.schedule->hasCopies())
      result.simulation = simulate(problem, *result.schedule);
    json::CapRecord cap;
    cap.capBytes = point.capBytes;
    cap.lowerBoundNs = result.bound.ns;
    cap.bound = result.bound.name;
    cap.provenOptimal = result.provenOptimal;
    result.bound = curve.boundOfAll;
    result.provenOptimal =
        objectiveOf(problem, result.simulation) <= result.bound.ns;
    json::SearchRecord record = search.recordOf(result);
    record.cap = cap;
    json::writeSchedule(os, problem, *result.schedule, result.simulation,
                        result.origin, &record);
    os << "\n";
  }
  if (curve.points.empty()) {
    json::writeInfeasible(os, problem, describe(*curve.fault));
    os << "\n";
  }
}

/// The curve without copies, with half of the limits. Leaves the other half,
/// and the schedules as starts, so that copies are never worse.
static MemoryCurve searchPlainCurve(const Problem &problem,
                                    SearchOptions &options, int64_t points) {
  options.timeLimitMs = (options.timeLimitMs + 1) / 2;
  options.effort = (options.effort + 1) / 2;
  MemoryCurve curve = searchMemoryCurve(problem.withoutCopies(), options,
                                        points, rondo::search);
  for (const CurvePoint &point : curve.points)
    options.starts.push_back(*point.result.schedule);
  return curve;
}

int searchCurves(const CurveRequest &request, const SearchRequest &search,
                 Session &session) {
  const std::vector<Problem> &problems = session.problems;
  for (const Problem &problem : problems)
    if (problem.iterations > 1)
      return reportError(problem.name + ": has " + Twine(problem.iterations) +
                         " iterations, but --pareto is of one; `rondo search` "
                         "without it orders windows");
  Interrupt interrupt;
  std::string lines;
  size_t empty = 0, points = 0;
  const Fault *fault = nullptr;
  std::vector<MemoryCurve> curves;
  /// [problem]: the curve without copies, if its stages may copy.
  std::vector<std::optional<MemoryCurve>> plainCurves(problems.size());
  curves.reserve(problems.size());
  {
    Progress progress(problems.size());
    for (size_t i = 0; i < problems.size() && !Interrupt::happened(); ++i) {
      const Problem &problem = problems[i];
      SearchOptions options = search.options;
      options.observer = [&](const SearchProgress &now) {
        progress.show(problem, problem.name, now);
      };
      if (problem.hostMemory.hasCopies())
        plainCurves[i] = searchPlainCurve(problem, options, request.points);
      curves.push_back(searchMemoryCurve(
          problem, options, request.points,
          [&](const Problem &under, const SearchOptions &now) {
            const PlanFigures *plan = session.figuresOf(i);
            return plan ? searchPlan(*plan, under, now, rondo::search)
                        : rondo::search(under, now);
          }));
      progress.step();
    }
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const MemoryCurve &curve = curves[i];
    appendLines(problems[i], search, curve, lines);
    points += curve.points.size();
    if (curve.points.empty()) {
      ++empty;
      fault = &*curve.fault;
      continue;
    }
    if (!request.asJson)
      printTable(problems[i], curve, plainCurves[i]);
    if (curve.fault)
      reportNote(problems[i].name +
                 ": the curve ends where less memory found "
                 "no schedule: " +
                 describe(*curve.fault));
  }
  if (request.asJson && request.output == "-")
    outs() << lines;
  if (request.output != "-") {
    if (int code = writeOrReport(request.output,
                                 [&](raw_ostream &os) { os << lines; }))
      return code;
    reportWritten(request.output, countOf(points, "schedule"));
  }
  if (Interrupt::happened())
    return Interrupted;
  if (problems.size() == 1 && empty) {
    session.reportErrorOf(problems[0], describe(*fault), *fault);
    return isShortfall(*fault) ? Infeasible : Failure;
  }
  return Success;
}

} // namespace rondo::driver
