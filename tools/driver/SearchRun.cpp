//===- SearchRun.cpp - Searches as the command line asks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/SearchRun.h"

#include "schedule/simulate/Objective.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo::driver {

SearchRequest searchRequest(const Arguments &arguments) {
  SearchRequest request;
  SearchOptions &options = request.options;
  options.seed = arguments.number("seed", 0);
  options.effort = arguments.number("effort", 0);
  options.timeLimitMs = arguments.number(
      "time-limit-ms", options.effort > 0 ? 0 : SearchOptions().timeLimitMs);
  options.threads = arguments.number("threads", 1);
  options.interrupt = Interrupt::flag();
  if (std::string objective = arguments.text("objective"); !objective.empty())
    request.objective =
        objective == "span" ? Objective::Span : Objective::Makespan;
  return request;
}

int readRobustness(const Arguments &arguments, SearchRequest &request) {
  request.robust = arguments.text("robust");
  if (request.robust.empty() &&
      (arguments.has("samples") || arguments.has("jitter")))
    return reportUsage("--samples and --jitter need --robust mean or p95");
  const int64_t samples = arguments.number("samples", 64);
  if (samples < 1 || samples > 1000)
    return reportUsage("--samples is " + Twine(samples) +
                       "; it must be 1 to 1000");
  const int64_t jitter = arguments.number("jitter", request.jitterPercent);
  if (jitter > 99)
    return reportUsage("--jitter is " + Twine(jitter) +
                       "; it must be 0 to 99 percent");
  request.jitterPercent = static_cast<int32_t>(jitter);
  if (!request.robust.empty())
    request.options.robustness = {
        request.robust == "mean" ? Robustness::Statistic::Mean
                                 : Robustness::Statistic::Percentile95,
        static_cast<int32_t>(samples), request.jitterPercent};
  return Success;
}

std::string SearchRequest::limitOption() const {
  return options.timeLimitMs > 0 ? "--time-limit-ms" : "--effort";
}

void SearchRequest::applyObjective(MutableArrayRef<Problem> problems) const {
  if (objective)
    for (Problem &problem : problems)
      problem.objective = *objective;
}

int SearchRequest::checkSearchable(ArrayRef<Problem> problems) {
  for (const Problem &problem : problems)
    if (problem.iterations > 1)
      return reportError(problem.name + ": has " + Twine(problem.iterations) +
                         " iterations, but a comparison is of one; `rondo "
                         "search` orders windows, `rondo simulate` and `rondo "
                         "versions` compare families whose iterations overlap");
  return Success;
}

json::SearchRecord SearchRequest::recordOf(const SearchResult &result) const {
  json::SearchRecord record;
  record.lowerBoundNs = result.bound.ns;
  record.bound = result.bound.name;
  record.provenOptimal = result.provenOptimal;
  record.seed = options.seed;
  record.effort = result.effort;
  record.seconds = result.seconds;
  record.stopped = stopName(result.stop);
  record.robust = robust;
  record.samples = result.robustSamples;
  record.jitterPercent = jitterPercent;
  record.robustNs = result.robustNs;
  return record;
}

SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       Progress &progress, const PlanFigures *plan) {
  SearchOptions options = request.options;
  options.observer = [&](const SearchProgress &now) {
    progress.show(problem, problem.name, now);
  };
  // Orders of a problem whose state is sharded get gathers, with or without a
  // plan whose programs must fit.
  SearchResult result = plan || problem.replicas.areSharded()
                            ? searchPlan(plan ? *plan : PlanFigures(), problem,
                                         options, search, request.isCompiled)
                            : search(problem, options);
  progress.step();
  return result;
}

SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       const PlanFigures *plan) {
  Progress progress(1);
  return runSearch(problem, request, progress, plan);
}

std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs) {
  if (isProvenOptimal)
    return "proven optimal";
  std::string text;
  raw_string_ostream(text) << "at most "
                           << format("%.2f",
                                     100.0 * double(reachedNs - boundNs) /
                                         double(std::max<int64_t>(boundNs, 1)))
                           << " % above the optimum";
  return text;
}

std::string figuresOf(const Problem &problem, const SearchResult &result) {
  const int64_t reached = objectiveOf(problem, result.simulation);
  return std::string(objectiveName(problem)) + " " + formatNs(reached) + ", " +
         gapText(result.provenOptimal, reached, result.bound.ns) +
         "; peak memory " + formatBytes(fullestPeak(result.simulation)) +
         ", the least found for this " + objectiveName(problem);
}

int readProblemsOrPlans(ModuleFile &file, const std::string &path,
                        const std::string &costsPath,
                        std::vector<Problem> &problems,
                        std::vector<PlanFigures> &figures) {
  if (StringRef(path).ends_with(".mlir"))
    return readPlans(file, path, costsPath, problems, figures);
  if (!costsPath.empty())
    return reportUsage("--costs needs a .mlir file");
  return readProblems(path, problems);
}

} // namespace rondo::driver
