//===- Plan.cpp - rondo plan ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/PlanWriter.h"
#include "formats/json/PlanningReader.h"
#include "formats/json/ProblemWriter.h"
#include "formats/json/ScheduleWriter.h"
#include "planning/scheduled/ScheduledBaselines.h"
#include "planning/scheduled/ScheduledPlanner.h"
#include "reports/BaselineTables.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "schedule/search/Workers.h"
#include "schedule/simulate/Simulator.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/PlanModel.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/STLExtras.h"

#define OPTIONS "tools/driver/Plan.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

struct Request {
  /// The evaluator is one of them if `isScheduled` is false.
  ChainPlannerOptions options;
  /// Evaluator `rondo`.
  bool isScheduled = false;
  std::string evaluator;
  std::string problems, output, schedules, scheduleProblems;
  int64_t threads = 1;
  bool hasBaselines = false;
};

int readRequest(const Arguments &arguments, Request &request) {
  request.problems = arguments.text("problems");
  if (const std::string file = arguments.file(); !file.empty())
    return reportUsage(
        "--problems has layers and devices; leave it out to plan "
        "the model of " +
        file);
  for (const char *option :
       {"samples", "target", "dtype", "microbatch-samples", "recompute",
        "chunks", "cut", "weights", "layout", "costs", "rows"})
    if (arguments.has(option))
      return reportUsage(Twine("--") + option +
                         " is for the plan of a model; --problems has none");
  request.hasBaselines = arguments.has("baselines");
  request.output = arguments.text("output", request.hasBaselines ? "" : "-");
  if (request.hasBaselines && request.output == "-")
    return reportUsage("--baselines prints tables to standard output: give "
                       "--output FILE, or leave it out");
  request.threads = arguments.number("threads", 1);
  ChainPlannerOptions &options = request.options;
  request.evaluator = arguments.text("evaluator", "1f1b");
  request.isScheduled = request.evaluator == "rondo";
  for (int k = 0; k < numPlanEvaluators; ++k)
    if (request.evaluator == nameOf(static_cast<PlanEvaluator>(k)))
      options.evaluator = static_cast<PlanEvaluator>(k);
  for (const char *option : {"schedules", "schedule-problems"})
    if (arguments.has(option) && !request.isScheduled)
      return reportUsage(Twine("--") + option +
                         " needs --evaluator rondo; the order of " +
                         request.evaluator + " follows from the plan");
  request.schedules = arguments.text("schedules", "");
  request.scheduleProblems = arguments.text("schedule-problems", "");
  options.seed = arguments.number("seed", 0);
  options.effort = arguments.number("effort", 0);
  options.timeLimitMs =
      arguments.number("time-limit-ms", options.effort > 0 ? 0 : 1000);
  options.interrupt = Interrupt::flag();
  return Success;
}

int readPlanning(const std::string &path, std::vector<ChainProblem> &problems) {
  const std::unique_ptr<MemoryBuffer> contents = readOrReport(path);
  if (!contents)
    return Failure;
  Result<std::vector<ChainProblem>> read =
      json::readPlanningProblems(path, contents->getBuffer());
  if (!read) {
    const int code =
        reportUnread(path, contents->getBuffer(), {formats::FileKind::Planning},
                     describe(read.fault()));
    if (const StringRef name = path;
        !name.ends_with(".json") && !name.ends_with(".jsonl"))
      reportNote("plan reads rondo-planning objects (.json, or .jsonl with one "
                 "per line), not plans (.mlir)");
    return code;
  }
  problems = std::move(*read);
  return Success;
}

/// Results of each problem.
struct Planned {
  std::vector<ChainPlannerResult> results;
  /// With evaluator `rondo`; empty if there is no plan.
  std::vector<std::optional<ScheduledPlan>> scheduled;
};

Planned planAll(const std::vector<ChainProblem> &problems,
                const Request &request) {
  Planned planned;
  planned.results.resize(problems.size());
  planned.scheduled.resize(problems.size());
  const auto count = static_cast<int64_t>(problems.size());
  Workers workers(std::min(request.threads, count));
  workers.forEach(count, [&](int32_t, int64_t i) {
    if (!request.isScheduled) {
      planned.results[i] = planChain(problems[i], request.options);
      return;
    }
    ScheduledPlannerResult found = planScheduled(problems[i], request.options);
    planned.results[i] = std::move(found.found);
    planned.scheduled[i] = std::move(found.scheduled);
  });
  return planned;
}

/// Writes a line for each plan that evaluator `rondo` found; `path` may be
/// empty.
template <typename Write>
int writeEach(const Planned &planned, const std::string &path, Write write) {
  if (path.empty())
    return Success;
  return writeOrReport(path, [&](raw_ostream &os) {
    for (const std::optional<ScheduledPlan> &plan : planned.scheduled)
      if (plan) {
        write(os, *plan);
        os << "\n";
      }
  });
}

int writeSchedules(const Planned &planned, const Request &request) {
  if (int code =
          writeEach(planned, request.schedules,
                    [](raw_ostream &os, const ScheduledPlan &plan) {
                      json::writeSchedule(os, plan.problem, plan.schedule,
                                          simulate(plan.problem, plan.schedule),
                                          plan.family);
                    }))
    return code;
  return writeEach(planned, request.scheduleProblems,
                   [](raw_ostream &os, const ScheduledPlan &plan) {
                     json::writeProblem(os, plan.problem);
                   });
}

int writePlans(const std::vector<ChainProblem> &problems,
               const Planned &planned, const Request &request) {
  return writeOrReport(request.output, [&](raw_ostream &os) {
    for (auto [problem, result] : zip_equal(problems, planned.results)) {
      json::writePlan(os, problem, request.evaluator, result);
      os << "\n";
    }
  });
}

/// Reports what was written to the file.
void reportWritten(const std::vector<ChainPlannerResult> &results,
                   const std::string &outputPath) {
  if (outputPath == "-" || isSpecialFile(outputPath))
    return;
  outs() << "wrote " << outputPath << ": ";
  const size_t found = count_if(
      results, [](const ChainPlannerResult &result) { return !!result.plan; });
  if (results.size() == 1 && found == 1) {
    const ChainPlannerResult &only = results.front();
    outs() << countOf(static_cast<int64_t>(only.plan->size()), "stage") << ", "
           << formatNs(only.timeNs) << ", "
           << gapText(only.lowerBoundNs == only.timeNs, only.timeNs,
                      only.lowerBoundNs)
           << "\n";
    return;
  }
  outs() << countOf(static_cast<int64_t>(results.size()), "problem") << ", "
         << found << " with a plan, "
         << count_if(results,
                     [](const ChainPlannerResult &result) {
                       return result.plan &&
                              result.lowerBoundNs == result.timeNs;
                     })
         << " proven optimal\n";
}

int run(const Arguments &arguments) {
  Interrupt interrupt;
  if (arguments.has("layers") || arguments.has("batches"))
    return planBatches(arguments);
  if (!arguments.has("problems"))
    return planModelFiles(arguments);
  Request request;
  if (int code = readRequest(arguments, request))
    return code;
  const std::pair<const char *, std::string> outputs[] = {
      {"--output", request.output},
      {"--schedules", request.schedules},
      {"--schedule-problems", request.scheduleProblems}};
  std::vector<UsedFile> given;
  for (const auto &[option, path] : outputs)
    if (!path.empty())
      given.push_back({option, path});
  if (int code = checkOutputs(inputFiles(arguments, {"problems"}), given))
    return code;
  for (const UsedFile &output : given)
    if (int code = reportUnwritable(output.path))
      return code;
  std::vector<ChainProblem> problems;
  if (int code = readPlanning(request.problems, problems))
    return code;
  const Planned planned = planAll(problems, request);
  const std::vector<ChainPlannerResult> &results = planned.results;
  if (!request.output.empty()) {
    if (int code = writePlans(problems, planned, request))
      return code;
    reportWritten(results, request.output);
  }
  if (int code = writeSchedules(planned, request))
    return code;
  if (request.hasBaselines)
    printBaselines(outs(), problems, results, request.evaluator,
                   [&](const ChainProblem &problem) {
                     return request.isScheduled
                                ? scheduleBaselines(problem, request.options)
                                : runBaselines(problem,
                                               request.options.evaluator);
                   });
  if (Interrupt::happened())
    return Interrupted;
  if (results.size() > 1 || results.front().plan)
    return Success;
  reportError(problems.front().name + ": " + describe(*results.front().fault));
  return Infeasible;
}

} // namespace

const Command &planCommand() {
  static const Command command{
      30,
      "plan",
      "cut layers into stages and place them on devices, with a bound",
      optionTable(),
      {"MODEL CLUSTER --samples N [-o FILE] [OPTIONS]",
       "--problems FILE [-o FILE] [OPTIONS]",
       "--layers FILE --batches FILE [OPTIONS]"},
      {"rondo plan model.mlir cluster.mlir --samples 256 -o plan.mlir",
       "rondo plan --problems problems.jsonl --output plans.jsonl",
       "rondo plan --problems problems.jsonl --evaluator spp "
       "--time-limit-ms 300",
       "rondo plan --problems problems.jsonl --baselines",
       "rondo plan --layers layers.json --batches batches.jsonl"},
      "which command to take",
      printPlanCommands,
      run,
      /*maxFiles=*/2};
  return command;
}

} // namespace rondo::driver
