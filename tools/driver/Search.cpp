//===- Search.cpp - rondo search ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "modules/SinglePlan.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#define OPTIONS "tools/driver/Search.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// The options of `rondo search`; paths that are not given are empty.
struct Request {
  SearchRequest search;
  ShapeRequest shapes;
  WindowSearchRequest windows;
  CurveRequest curve;
  std::string input, problems, costs, output, problemOutput;

  bool writesModule() const { return isModuleFile(output); }
  /// Whether the plan may change its shape.
  bool isAmongPlans() const {
    return !shapes.isEmpty() || !problemOutput.empty() || writesModule();
  }
};

/// Reports what was written to the file.
void reportWritten(const std::vector<SearchedLine> &lines,
                   const std::string &outputPath) {
  if (outputPath == "-" || isSpecialFile(outputPath))
    return;
  const size_t found = count_if(
      lines, [](const SearchedLine &line) { return line.reason.empty(); });
  // A module without a schedule is not written.
  if (found == 0 && isModuleFile(outputPath))
    return;
  outs() << "wrote " << outputPath << ": ";
  if (lines.size() == 1 && found == 1)
    outs() << lines.front().figures << "\n";
  else
    outs() << countOf(lines.size(), "problem") << ", " << found
           << " with a schedule\n";
}

/// Default path of the problem of a chosen plan: next to a file of schedules,
/// otherwise empty (not written).
std::string problemFileBeside(StringRef output) {
  if (isModuleFile(output) || output == "-" || isSpecialFile(output))
    return "";
  SmallString<128> beside(output);
  sys::path::replace_extension(beside, ".problem.jsonl");
  return beside.str().str();
}

/// Searches the plan of a .mlir file, perhaps in other shapes.
int searchAmongPlans(const Request &request, Session &session) {
  if (request.search.options.robustness)
    return reportUsage("--robust searches the plan as written; leave out "
                       "--placement, --chunks, --microbatches and --recompute");
  if (!isModuleFile(request.input))
    return reportUsage("--placement, --chunks, --microbatches, --recompute, "
                       "--problem-output and a .mlir output need a .mlir "
                       "file; the placement of a rondo-problem is fixed");
  if (!request.costs.empty())
    return reportUsage("--costs has times of the plan's stages; other plans "
                       "need times of the layers");
  return searchPlans({request.input, request.shapes, request.search,
                      request.output, request.problemOutput},
                     session);
}

/// Whether no other shape is asked for, and none could be searched: then the
/// plans are searched as they are written. Returns the exit code.
int chooseAsWritten(const Request &request, Session &session, bool &asWritten) {
  if (!isModuleFile(request.input) || !request.shapes.isEmpty())
    return Success;
  if (!session.isRead() && failed(session.read(request.input)))
    return Failure;
  asWritten = request.search.options.robustness || !request.costs.empty() ||
              !isPlainShape(session);
  const auto plans = session.written().getOps<pipe::PlanOp>();
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
  if (const std::string orders = arguments.text("order"); !orders.empty())
    for (size_t i = 0; i < std::size(orderClassWords); ++i)
      if (orders == orderClassWords[i])
        request.search.options.orders = static_cast<OrderClass>(i);
  request.shapes = shapeRequest(arguments);
  request.shapes.mayRecompute = arguments.text("recompute") == "auto";
  request.costs = arguments.text("costs");
  request.output = arguments.text("output", "-");
  request.problemOutput = arguments.text("problem-output");
  return Success;
}

/// Writes a module with the plan of a problem as the file has it, its model and
/// cluster, and the order.
int writeModule(Session &session, const Problem &problem, const Schedule &order,
                StringRef output) {
  auto chosen = session.written().lookupSymbol<pipe::PlanOp>(problem.name);
  auto [module, plan] =
      pipe::moduleOfPlan(chosen, chosen.getSymName(), chosen.getModel());
  if (failed(pipe::addSchedule(plan, "searched", order, problem))) {
    if (problem.iterations > 1)
      reportNote("a larger --iterations finds an order that repeats; a "
                 "rondo-schedule, such as -o best.jsonl, keeps this one");
    return Failure;
  }
  if (Error error = pipe::checkCompiles(*module))
    return reportError(toString(std::move(error)));
  return writeOrReport(output, [&, module = *module](raw_ostream &os) mutable {
    module.print(os);
  });
}

/// Writes the schedules, and the windows that they are for. Returns the exit
/// code.
int writeLines(const Request &request, Session &session,
               const std::vector<SearchedLine> &lines) {
  std::vector<Problem> problems = session.problems;
  for (auto [problem, line] : zip_equal(problems, lines))
    if (line.chosen)
      problem = *line.chosen;
  int code = Success;
  // Without a schedule, the end says why.
  if (!request.writesModule())
    code = writeOrReport(request.output, [&](raw_ostream &os) {
      for (const SearchedLine &line : lines)
        os << line.text << "\n";
    });
  else if (lines[0].order)
    code = writeModule(session, problems[0], *lines[0].order, request.output);
  return code ? code : writeProblems(request.problemOutput, problems);
}

/// Reports the results that have been written; returns the exit code.
int finish(const Request &request, Session &session,
           const std::vector<SearchedLine> &lines, bool isBatch) {
  reportWritten(lines, request.output);
  for (auto [problem, line] : zip(session.problems, lines))
    if (!line.refusal.empty())
      reportNote(problem.name +
                 ": the model declares no weights, so the search counted "
                 "activations alone; `rondo compile` refuses this order: " +
                 line.refusal + "; declare the weights (`parameters`)");
  if (Interrupt::happened())
    return Interrupted;
  // A batch continues; for a single problem, having no schedule is the result.
  if (isBatch || lines.size() != 1 || lines[0].reason.empty())
    return Success;
  // On a terminal, the line with the reason has just been shown.
  const bool isShown = request.output == "-" && outs().is_displayed();
  session.reportErrorOf(session.problems[0],
                        isShown ? "no schedule; the line above says why"
                                : lines[0].reason,
                        lines[0].fault);
  return lines[0].noOrderFits ? Infeasible : Failure;
}

/// Checks that no output is an input and that it can be written.
int checkFiles(const Arguments &arguments, const Request &request) {
  if (int code = checkOutputs(
          inputFiles(arguments, {"problems", "costs"}),
          {{"--output", request.output},
           {arguments.has("problem-output") ? "--problem-output"
                                            : "the problem next to --output",
            request.problemOutput}}))
    return code;
  return reportUnwritable(request.output);
}

/// Refuses windows of micro-batches that differ.
int checkUneven(ArrayRef<Problem> problems) {
  for (const Problem &problem : problems)
    if (problem.isUneven() && problem.iterations > 1)
      return reportError(problem.name +
                         ": its micro-batches differ, and windows of several "
                         "iterations repeat theirs; search one iteration");
  return Success;
}

int run(const Arguments &arguments) {
  Request request;
  if (int code = readRequest(arguments, request))
    return code;
  const bool isBatch = request.input.empty();
  if (isBatch)
    request.input = request.problems;
  if (request.isAmongPlans() && request.problemOutput.empty())
    request.problemOutput = problemFileBeside(request.output);
  if (int code = checkFiles(arguments, request))
    return code;
  // In a file with plans, only --iterations asks for windows.
  const bool mayBeWindows =
      !isModuleFile(request.input) || arguments.has("iterations") ||
      arguments.has("policy") || arguments.has("most-delay");
  Session session;
  session.keepWritten();
  session.mayBeUneven = true;
  if (mayBeWindows) {
    if (int code = session.load(request.input, request.costs))
      return code;
    for (size_t i = 0; i < session.figures.size(); ++i)
      countWeights(session.figures[i], session.problems[i]);
    if (int code = makeWindows(arguments, request.windows, session))
      return code;
  }
  const bool hasWindows = any_of(session.problems, [](const Problem &problem) {
    return problem.iterations > 1;
  });
  if (request.isAmongPlans() && !hasWindows) {
    bool asWritten = false;
    if (int code = chooseAsWritten(request, session, asWritten))
      return code;
    if (!asWritten)
      return searchAmongPlans(request, session);
  }
  request.search.isCompiled = request.writesModule();
  request.search.options.inIndexOrder = request.writesModule();
  if (!mayBeWindows)
    if (int code = session.load(request.input, request.costs))
      return code;
  if (int code = checkUneven(session.problems))
    return code;
  request.search.applyObjective(session.problems);
  if (request.curve.isAsked)
    return searchCurves(request.curve, request.search, session);
  Interrupt interrupt;
  const std::vector<SearchedLine> lines =
      searchAll(session, request.search, request.windows);
  if (int code = writeLines(request, session, lines))
    return code;
  return finish(request, session, lines, isBatch);
}

} // namespace

const Command &searchCommand() {
  static const Command command{
      40,
      "search",
      "find schedules under memory caps, with a bound",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]", "--problems FILE [-o FILE] [OPTIONS]",
       "FILE [--placement LIST] [--chunks LIST] [--microbatches LIST] "
       "[--recompute auto] [-o FILE] [OPTIONS]",
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
      "which command to take",
      printPlanCommands,
      run};
  return command;
}

} // namespace rondo::driver
