//===- Search.cpp - rondo search ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Evaluate.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/PlanSearch.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchCurve.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/SearchWindows.h"
#include "tools/driver/SearchedModule.h"
#include "tools/driver/Threads.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace rondo::driver {

namespace {

/// What `rondo search` asks for; paths that are not given are empty.
struct Request {
  SearchRequest search;
  ShapeRequest shapes;
  WindowSearchRequest windows;
  CurveRequest curve;
  std::string input, problems, costs, output, problemOutput;

  bool writesModule() const { return StringRef(output).ends_with(".mlir"); }
  /// Whether the plan may change its shape.
  bool isAmongPlans() const {
    return !shapes.isEmpty() || !problemOutput.empty() || writesModule();
  }
};

struct Line {
  std::string text;
  /// Why there is no schedule; empty if there is one.
  std::string reason;
  /// Proved: a device's memory is too small for every order.
  bool noOrderFits = false;
  /// The schedule's figures, for a message.
  std::string figures;
  /// What `rondo compile` would refuse of it; empty if nothing.
  std::string refusal;
  /// The problem of a window's schedule.
  std::optional<Problem> chosen;
  std::optional<Schedule> order;
  std::optional<Fault> fault;
};

/// Writes that there is no schedule, and why.
void setFault(Line &line, const Problem &problem, const Fault &fault) {
  line.reason = describe(fault);
  line.fault = fault;
  line.noOrderFits = isShortfall(fault);
  raw_string_ostream os(line.text);
  json::writeInfeasible(os, problem, line.reason);
}

/// `plan` is that of the window; null: a file of problems has it.
Line searchOneWindow(const Problem &window, const Request &request,
                     const PlanFigures *plan) {
  const SearchOptions &options = request.search.options;
  bool isTold = true;
  auto arenasOf = [&](const WindowSearchResult &found) {
    auto arenas = arenasOfWindow(request.input, request.costs, found.problem,
                                 *found.schedule);
    isTold = arenas.has_value();
    return arenas;
  };
  // Without weights only activations are known.
  const bool limitsArenas = plan && plan->declaresWeights;
  WindowSearchResult result =
      runWindowSearch(window, request.windows, options,
                      limitsArenas ? ArenasOfOrder(arenasOf) : nullptr);
  Line line;
  if (!result.schedule) {
    setFault(line, window, *result.fault);
    return line;
  }
  if (result.onlyDrained)
    reportNote(window.name +
               ": only orders that drain in each iteration were "
               "tried: " +
               describe(*result.onlyDrained));
  if (result.stop == SearchStop::Time && result.numOverlapping == 0)
    reportNote(window.name + ": the " + std::to_string(options.timeLimitMs) +
               " ms of the search ended before it looked at an order whose "
               "iterations overlap, so this one drains; a larger "
               "--time-limit-ms, 0 for none, or a smaller --iterations helps");
  if (!isTold)
    reportNote(window.name +
               ": what messages take was not checked: no program was made of "
               "this order, which may not repeat within " +
               countOf(window.iterations, "iteration") +
               "; a larger --iterations may help");
  line.figures = figuresOf(result);
  json::SearchRecord record = recordOf(result, options);
  raw_string_ostream os(line.text);
  json::writeSchedule(os, result.problem, *result.schedule, result.simulation,
                      result.origin, &record);
  line.chosen = std::move(result.problem);
  line.order = std::move(result.schedule);
  return line;
}

/// Why programs of the schedule do not fit a plan that is searched by
/// activations alone, as its model declares no weights; empty if they do.
std::string refusalOf(const Problem &problem, const PlanFigures &plan,
                      const Schedule &schedule) {
  if (plan.declaresWeights || problem.replicas.areSharded())
    return "";
  Candidate found;
  found.schedule = schedule;
  addArena(found, problem, plan);
  return found.schedule ? "" : found.reason;
}

Line searchOne(const Problem &problem, const SearchRequest &request,
               const PlanFigures *plan, Progress &progress) {
  SearchResult result = runSearch(problem, request, progress, plan);
  Line line;
  if (!result.schedule) {
    setFault(line, problem, *result.fault);
    return line;
  }
  if (plan)
    line.refusal = refusalOf(problem, *plan, *result.schedule);
  line.figures = figuresOf(problem, result);
  if (result.robustNs)
    line.figures += "; " + request.robust + " " + formatNs(*result.robustNs) +
                    " over " + countOf(result.robustSamples, "sample");
  json::SearchRecord record = request.recordOf(result);
  raw_string_ostream os(line.text);
  json::writeSchedule(os, problem, *result.schedule, result.simulation,
                      result.origin, &record);
  line.order = std::move(result.schedule);
  return line;
}

/// `plans` are those of the problems, or empty. Problems share the threads
/// first, as that costs nothing; what is left over helps inside of each.
std::vector<Line> searchAll(const std::vector<Problem> &problems,
                            const std::vector<PlanFigures> &plans,
                            Request request) {
  std::vector<Line> lines(problems.size());
  Progress progress(problems.size());
  int64_t &inside = request.search.options.threads;
  const int64_t beside =
      std::clamp<int64_t>(int64_t(problems.size()), 1, inside);
  inside /= beside;
  forEachOnThreads(problems.size(), beside, [&](size_t i) {
    lines[i] = problems[i].iterations > 1
                   ? searchOneWindow(problems[i], request,
                                     plans.empty() ? nullptr : &plans[i])
                   : searchOne(problems[i], request.search,
                               plans.empty() ? nullptr : &plans[i], progress);
    if (problems[i].iterations > 1)
      progress.step();
  });
  return lines;
}

/// Reports what was written to the file.
void reportWritten(const std::vector<Line> &lines,
                   const std::string &outputPath) {
  if (outputPath == "-" || isSpecialFile(outputPath))
    return;
  const size_t found =
      count_if(lines, [](const Line &line) { return line.reason.empty(); });
  // A module without a schedule is not written.
  if (found == 0 && StringRef(outputPath).ends_with(".mlir"))
    return;
  outs() << "wrote " << outputPath << ": ";
  if (lines.size() == 1 && found == 1)
    outs() << lines.front().figures << "\n";
  else
    outs() << countOf(lines.size(), "problem") << ", " << found
           << " with a schedule\n";
}

/// Where the problem of a chosen plan is written if no option says it: beside a
/// file of schedules, otherwise nowhere.
std::string problemFileBeside(StringRef output) {
  if (output.ends_with(".mlir") || output == "-" || isSpecialFile(output))
    return "";
  SmallString<128> beside(output);
  sys::path::replace_extension(beside, ".problem.jsonl");
  return beside.str().str();
}

/// Searches the plan of a .mlir file, perhaps in other shapes.
int searchAmongPlans(const Request &request) {
  if (request.search.options.robustness)
    return reportUsage("--robust searches the plan as written; leave out "
                       "--placement, --chunks and --microbatches");
  if (!StringRef(request.input).ends_with(".mlir"))
    return reportUsage("--placement, --chunks, --microbatches, "
                       "--problem-output and a .mlir output need a .mlir "
                       "file; the placement of a rondo-problem is fixed");
  if (!request.costs.empty())
    return reportUsage("--costs has times of the plan's stages; other plans "
                       "need times of the layers");
  return searchPlans({request.input, request.shapes, request.search,
                      request.output, request.problemOutput});
}

/// Whether no other shape is asked for, and none could be searched: then the
/// plans are searched as they are written. Returns the exit code.
int chooseAsWritten(const Request &request, bool &asWritten) {
  if (!StringRef(request.input).ends_with(".mlir") || !request.shapes.isEmpty())
    return Success;
  ModuleFile file;
  if (failed(file.read(request.input)))
    return Failure;
  asWritten = request.search.options.robustness || !request.costs.empty() ||
              !mayChangeShape(file);
  const auto plans = file.module().getOps<pipe::PlanOp>();
  const auto count = std::distance(plans.begin(), plans.end());
  if (asWritten && request.writesModule() && count > 1)
    return reportUsage(request.output +
                       " takes the schedule of one plan; the file has " +
                       Twine(count));
  return Success;
}

/// Reads the command line; returns the exit code of an invalid one.
int readRequest(const Arguments &arguments, Request &request) {
  request.input = arguments.file();
  request.problems = arguments.text("problems");
  if (request.input.empty() && request.problems.empty())
    return reportUsage(
        "search needs a .mlir or problem file, or --problems FILE");
  if (!request.input.empty() && !request.problems.empty())
    return reportUsage("search takes a file or --problems, not both: " +
                       request.input + " and " + request.problems);
  request.search = searchRequest(arguments);
  if (int code = readRobustness(arguments, request.search))
    return code;
  if (int code = readWindowRequest(arguments, request.windows))
    return code;
  if (int code = readCurveRequest(arguments, request.curve))
    return code;
  request.shapes = shapeRequest(arguments);
  request.costs = arguments.text("costs");
  request.output = arguments.text("output", "-");
  request.problemOutput = arguments.text("problem-output");
  return Success;
}

/// Writes the problems that the lines are for: the windows that were chosen.
Error writeChosen(const Request &request, std::vector<Problem> problems,
                  const std::vector<Line> &lines) {
  if (request.problemOutput.empty())
    return Error::success();
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].chosen)
      problems[i] = *lines[i].chosen;
  return writeProblems(request.problemOutput, problems);
}

int run(const Arguments &arguments) {
  Request request;
  if (int code = readRequest(arguments, request))
    return code;
  const bool isBatch = request.input.empty();
  if (isBatch)
    request.input = request.problems;
  const bool isModule = StringRef(request.input).ends_with(".mlir");
  if (request.isAmongPlans() && request.problemOutput.empty())
    request.problemOutput = problemFileBeside(request.output);
  if (int code = checkOutputs(
          inputFiles(arguments, {"problems", "costs"}),
          {{"--output", request.output},
           {arguments.has("problem-output") ? "--problem-output"
                                            : "the problem beside --output",
            request.problemOutput}}))
    return code;
  if (Error error = checkWritable(request.output))
    return reportError(toString(std::move(error)));
  // Of a file with plans, only --iterations asks for windows.
  const bool mayBeWindows = !isModule || arguments.has("iterations") ||
                            arguments.has("policy") ||
                            arguments.has("most-delay");
  ModuleFile file;
  std::vector<Problem> problems;
  std::vector<PlanFigures> plans;
  if (mayBeWindows) {
    if (int code = readProblemsOrPlans(file, request.input, request.costs,
                                       problems, plans))
      return code;
    for (size_t i = 0; i < plans.size(); ++i)
      countWeights(plans[i], problems[i]);
    if (int code = makeWindows(arguments, request.windows, file, problems))
      return code;
  }
  const bool hasWindows = any_of(
      problems, [](const Problem &problem) { return problem.iterations > 1; });
  if (request.isAmongPlans() && !hasWindows) {
    bool asWritten = false;
    if (int code = chooseAsWritten(request, asWritten))
      return code;
    if (!asWritten)
      return searchAmongPlans(request);
  }
  request.search.isCompiled = request.writesModule();
  request.search.options.inIndexOrder = request.writesModule();
  if (!mayBeWindows)
    if (int code = readProblemsOrPlans(file, request.input, request.costs,
                                       problems, plans))
      return code;
  request.search.applyObjective(problems);
  if (request.curve.isAsked)
    return searchCurves(request.curve, request.search, file, problems, plans);
  Interrupt interrupt;
  std::vector<Line> lines = searchAll(problems, plans, request);
  Error error = Error::success();
  // Where there is no schedule, the end says why.
  if (request.writesModule()) {
    if (lines[0].order)
      if (int code = writeSearchedModule(
              request.input, lines[0].chosen ? *lines[0].chosen : problems[0],
              *lines[0].order, request.output)) {
        consumeError(std::move(error));
        return code;
      }
  } else {
    consumeError(std::move(error));
    error = writeFile(request.output, [&](raw_ostream &os) {
      for (const Line &line : lines)
        os << line.text << "\n";
      return Error::success();
    });
  }
  if (!error)
    error = writeChosen(request, problems, lines);
  if (error)
    return reportError(toString(std::move(error)));
  reportWritten(lines, request.output);
  for (auto [problem, line] : zip(problems, lines))
    if (!line.refusal.empty())
      reportNote(problem.name +
                 ": the model declares no weights, so the search counted "
                 "activations alone; `rondo compile` refuses this order: " +
                 line.refusal + "; declare the weights (`parameters`)");
  if (Interrupt::happened())
    return Interrupted;
  // A batch continues; for a single problem, having no schedule is the result.
  if (!isBatch && lines.size() == 1 && !lines[0].reason.empty()) {
    // On a terminal, the line with the reason has just been shown.
    const bool isShown = request.output == "-" && outs().is_displayed();
    reportErrorOf(problems[0], file,
                  isShown ? "no schedule; the line above says why"
                          : lines[0].reason,
                  lines[0].fault);
    return lines[0].noOrderFits ? Infeasible : Failure;
  }
  return Success;
}

} // namespace

const Command &searchCommand() {
  static const Command command = {
      "search",
      "find schedules under memory caps, with a bound",
      searchOptions(),
      {"FILE [-o FILE] [OPTIONS]", "--problems FILE [-o FILE] [OPTIONS]",
       "FILE [--placement LIST] [--chunks LIST] [--microbatches LIST] "
       "[-o FILE] [OPTIONS]",
       "FILE [--iterations N] [--policy LIST] [--most-delay N] "
       "[--microbatches LIST] [-o FILE] [OPTIONS]",
       "FILE --pareto [--points N] [--json] [-o FILE] [OPTIONS]",
       "FILE --robust NAME [--samples N] [--jitter PERCENT] [-o FILE] "
       "[OPTIONS]"},
      {"rondo search examples/gpt-small.mlir --effort 1000",
       "rondo search examples/gpt-small.mlir --iterations 12 --policy "
       "pipedream -o best.mlir",
       "rondo search examples/gpt-small.mlir --placement auto -o best.mlir",
       "rondo search problem.json --objective span",
       "rondo search problem.json --pareto --points 8 -o curve.jsonl",
       "rondo search problem.json --iterations 8 --policy pipedream,2bw",
       "rondo search --problems problems.jsonl --output schedules.jsonl "
       "--time-limit-ms 300"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
