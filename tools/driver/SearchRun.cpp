//===- SearchRun.cpp - Searches as the command line asks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Searching.h"

#include "modules/SinglePlan.h"
#include "planning/JudgedSchedule.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/search/Workers.h"
#include "schedule/simulate/Objective.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/Support/Format.h"

#include <mutex>

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
  static std::once_flag isNoted;
  if (problem.hostMemory.hasCopies())
    std::call_once(isNoted, [&] {
      reportNote(problem.name +
                 ": stages may copy activations to the host (SAVE, LOAD), but "
                 "the search orders tasks without copies; its bounds hold for "
                 "orders with copies too");
    });
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

namespace {

/// Reports that no schedule was found, and why.
void setFault(SearchedLine &line, const Problem &problem, const Fault &fault) {
  line.reason = describe(fault);
  line.fault = fault;
  line.noOrderFits = isShortfall(fault);
  raw_string_ostream os(line.text);
  json::writeInfeasible(os, problem, line.reason);
}

/// Searches of several problems of a session, on several threads.
struct Searches {
  Session &session;
  Progress progress;
  /// The session's context has no locks of its own.
  std::mutex contextMutex;

  explicit Searches(Session &session)
      : session(session), progress(session.problems.size()) {}
};

/// `plan` is that of the window; null: a file of problems has it.
SearchedLine searchOneWindow(const Problem &window,
                             const SearchRequest &request,
                             const WindowSearchRequest &windows,
                             const PlanFigures *plan, Searches &searches) {
  const SearchOptions &options = request.options;
  bool isTold = true;
  auto arenasOf = [&](const WindowSearchResult &found) {
    std::lock_guard<std::mutex> lock(searches.contextMutex);
    auto arenas = pipe::arenasOfWindow(searches.session.planOf(window),
                                       found.problem, *found.schedule);
    isTold = arenas.has_value();
    return arenas;
  };
  // Without weights only activations are known.
  const bool limitsArenas = plan && plan->declaresWeights;
  WindowSearchResult result =
      runWindowSearch(window, windows, options,
                      limitsArenas ? ArenasOfOrder(arenasOf) : nullptr);
  SearchedLine line;
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
  JudgedSchedule found;
  found.schedule = schedule;
  addArena(found, problem, plan);
  return found.schedule ? "" : found.reason;
}

SearchedLine searchOne(const Problem &problem, const SearchRequest &request,
                       const PlanFigures *plan, Progress &progress) {
  SearchResult result = runSearch(problem, request, progress, plan);
  SearchedLine line;
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

} // namespace

std::vector<SearchedLine> searchAll(Session &session, SearchRequest request,
                                    const WindowSearchRequest &windows) {
  const std::vector<Problem> &problems = session.problems;
  std::vector<SearchedLine> lines(problems.size());
  Searches searches(session);
  int64_t &inside = request.options.threads;
  const int64_t beside =
      std::clamp<int64_t>(int64_t(problems.size()), 1, inside);
  inside /= beside;
  Workers(beside).forEach(problems.size(), [&](int32_t, int64_t i) {
    const PlanFigures *plan = session.figuresOf(i);
    if (problems[i].iterations == 1) {
      lines[i] = searchOne(problems[i], request, plan, searches.progress);
      return;
    }
    lines[i] = searchOneWindow(problems[i], request, windows, plan, searches);
    searches.progress.step();
  });
  return lines;
}

} // namespace rondo::driver
