//===- Plan.cpp - rondo plan ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/PlanWriter.h"
#include "formats/json/PlanningReader.h"
#include "tools/driver/BaselineTables.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/PlanModel.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Threads.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo::driver {

namespace {

struct Request {
  ChainPlannerOptions options;
  std::string problems, output;
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
  const std::string evaluator = arguments.text("evaluator", "1f1b");
  for (int k = 0; k < numPlanEvaluators; ++k)
    if (evaluator == nameOf(static_cast<PlanEvaluator>(k)))
      options.evaluator = static_cast<PlanEvaluator>(k);
  options.seed = arguments.number("seed", 0);
  options.effort = arguments.number("effort", 0);
  options.timeLimitMs =
      arguments.number("time-limit-ms", options.effort > 0 ? 0 : 1000);
  options.interrupt = Interrupt::flag();
  return Success;
}

int readProblems(const std::string &path, std::vector<ChainProblem> &problems) {
  Expected<std::unique_ptr<MemoryBuffer>> contents = readFile(path);
  if (!contents)
    return reportError(toString(contents.takeError()));
  Expected<std::vector<ChainProblem>> read =
      json::readPlanningProblems(path, (*contents)->getBuffer());
  if (!read) {
    const int code = reportError(path + ": " + toString(read.takeError()));
    if (const StringRef name = path;
        !name.ends_with(".json") && !name.ends_with(".jsonl"))
      reportNote("plan reads rondo-planning objects (.json, or .jsonl with one "
                 "per line), not plans (.mlir)");
    return code;
  }
  problems = std::move(*read);
  return Success;
}

std::vector<ChainPlannerResult>
planAll(const std::vector<ChainProblem> &problems, const Request &request) {
  std::vector<ChainPlannerResult> results(problems.size());
  forEachOnThreads(problems.size(), request.threads, [&](size_t i) {
    results[i] = planChain(problems[i], request.options);
  });
  return results;
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
  if (!arguments.has("problems"))
    return planModelFiles(arguments);
  Request request;
  if (int code = readRequest(arguments, request))
    return code;
  if (!request.output.empty()) {
    if (int code = checkOutputs(inputFiles(arguments, {"problems"}),
                                {{"--output", request.output}}))
      return code;
    if (Error error = checkWritable(request.output))
      return reportError(toString(std::move(error)));
  }
  std::vector<ChainProblem> problems;
  if (int code = readProblems(request.problems, problems))
    return code;
  const std::vector<ChainPlannerResult> results = planAll(problems, request);
  if (!request.output.empty()) {
    Error error = writeFile(request.output, [&](raw_ostream &os) {
      for (auto [problem, result] : zip_equal(problems, results)) {
        json::writePlan(os, problem, request.options.evaluator, result);
        os << "\n";
      }
      return Error::success();
    });
    if (error)
      return reportError(toString(std::move(error)));
    reportWritten(results, request.output);
  }
  if (request.hasBaselines)
    printBaselines(problems, results, request.options.evaluator);
  if (Interrupt::happened())
    return Interrupted;
  if (results.size() > 1 || results.front().plan)
    return Success;
  reportError(problems.front().name + ": " + describe(*results.front().fault));
  return Infeasible;
}

} // namespace

const Command &planCommand() {
  static const Command command = {
      "plan",
      "cut layers into stages and place them on devices, with a bound",
      planOptions(),
      {"MODEL CLUSTER --samples N [-o FILE] [OPTIONS]",
       "--problems FILE [-o FILE] [OPTIONS]"},
      {"rondo plan model.mlir cluster.mlir --samples 256 -o plan.mlir",
       "rondo plan --problems problems.jsonl --output plans.jsonl",
       "rondo plan --problems problems.jsonl --evaluator spp "
       "--time-limit-ms 300",
       "rondo plan --problems problems.jsonl --baselines"},
      nullptr,
      nullptr,
      run,
      /*mostFiles=*/2};
  return command;
}

} // namespace rondo::driver
