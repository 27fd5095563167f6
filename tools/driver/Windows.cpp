//===- Windows.cpp - Problems over several iterations ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Windows.h"

#include "dialect/Nearest.h"
#include "schedule/search/WindowJudge.h"
#include "schedule/transforms/CutAgain.h"
#include "schedule/transforms/Iterations.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

WindowRequest windowRequest(const Arguments &arguments) {
  return {arguments.number("iterations", 0), arguments.text("policy"),
          arguments.text("accounting") == "slots"};
}

int applyWindow(const WindowRequest &request, Session &session) {
  for (Problem &problem : session.problems) {
    if (request.iterations > 0) {
      pipe::PlanOp plan = session.planOf(problem);
      if (plan && plan.getTokensAttr())
        return session.reportErrorOf(
            problem, "each batch differs, and a window of " +
                         Twine(request.iterations) +
                         " iterations needs equal ones: let iterations drain");
      Result<Problem> window = overIterations(problem, request.iterations);
      if (!window)
        return session.reportErrorOf(problem,
                                     describe(window.fault(), problem));
      problem = *std::move(window);
    }
    for (const NamedPolicy &named : namedPolicies)
      if (request.policy == named.name)
        problem.versions.assign(problem.numStages(), named.policy);
    if (request.inSlots)
      problem = inSlots(problem);
  }
  return Success;
}

void noteOverlaps(llvm::ArrayRef<pipe::ScheduleOp> schedules,
                  const std::vector<Problem> &problems) {
  if (problems.empty() || problems.front().iterations > 1)
    return;
  for (pipe::ScheduleOp schedule : schedules)
    if (schedule.overlaps())
      reportNote("iterations of @" + schedule.getSymName() +
                 " overlap; this shows one alone, and --iterations N shows N "
                 "of them");
}

static const NamedPolicy *findPolicy(StringRef name) {
  const auto *found = find_if(
      namedPolicies, [&](const NamedPolicy &of) { return of.name == name; });
  return found == std::end(namedPolicies) ? nullptr : found;
}

static SmallVector<StringRef> policyNames() {
  return SmallVector<StringRef>(map_range(
      namedPolicies, [](const NamedPolicy &of) { return StringRef(of.name); }));
}

int readWindowRequest(const Arguments &arguments,
                      WindowSearchRequest &request) {
  request.iterations = arguments.number("iterations", 0);
  request.maxDelay = arguments.number("most-delay", anyDelay);
  SmallVector<StringRef> parts;
  const std::string policies = arguments.text("policy");
  if (!policies.empty())
    StringRef(policies).split(parts, ',');
  for (StringRef name : parts) {
    const auto known = policyNames();
    if (!findPolicy(name))
      return reportUsage("--policy has '" + name + "'" +
                         didYouMean(name, known) + "; there are " +
                         join(known, ", "));
    if (!is_contained(request.policies, name))
      request.policies.push_back(name.str());
  }
  return Success;
}

/// Reads --microbatches of windows.
static int readMicrobatches(const Arguments &arguments,
                            std::vector<int64_t> &microbatches) {
  const std::string text = arguments.text("microbatches");
  SmallVector<StringRef> parts;
  if (!text.empty())
    StringRef(text).split(parts, ',');
  for (StringRef part : parts) {
    int64_t number = 0;
    if (part.getAsInteger(10, number) || number < 1 || number > maxMicrobatches)
      return reportUsage("--microbatches has '" + part +
                         "'; it takes whole numbers from 1 to " +
                         Twine(maxMicrobatches) + ", such as 2,4,8");
    if (!is_contained(microbatches, number))
      microbatches.push_back(number);
  }
  return Success;
}

int makeWindows(const Arguments &arguments, WindowSearchRequest &request,
                Session &session) {
  std::vector<Problem> &problems = session.problems;
  if (int code = applyWindow({request.iterations}, session))
    return code;
  const auto isWindow = [](const Problem &of) { return of.iterations > 1; };
  if (none_of(problems, isWindow)) {
    for (StringRef option : {"policy", "most-delay"})
      if (arguments.has(option))
        return reportUsage("--" + option +
                           " is for iterations that overlap; --iterations N "
                           "makes a window of N of them");
    return Success;
  }
  for (StringRef option : {"objective", "robust"})
    if (arguments.has(option))
      return reportUsage("--" + option +
                         " is for a single iteration; a window is searched "
                         "for the time that an iteration adds to a long run");
  const bool isModule = isModuleFile(arguments.file());
  for (StringRef option : {"placement", "chunks"})
    if (arguments.has(option))
      return reportUsage("--" + option +
                         (isModule ? " searches plans of one iteration; leave "
                                     "out --iterations"
                                   : " needs a .mlir file; the placement of a "
                                     "rondo-problem is fixed"));
  const std::string output = arguments.text("output");
  const bool writesModule = isModuleFile(output);
  if (writesModule && !isModule)
    return reportUsage("the schedule of a window is a rondo-schedule, not a "
                       "plan; write it to another file than " +
                       output);
  if (writesModule && problems.size() != 1)
    return reportUsage(output +
                       " takes the schedule of one plan; the file "
                       "has " +
                       Twine(problems.size()));
  if (isModule && arguments.has("microbatches"))
    return reportUsage("--microbatches of a window needs a rondo-problem, "
                       "since the layers of a plan take other times and bytes "
                       "then: write microbatches(N) in the plan and search "
                       "once for each N");
  if (int code = readMicrobatches(arguments, request.microbatches))
    return code;
  for (const Problem &problem : problems)
    if (isWindow(problem) && problem.versions.empty() &&
        request.policies.empty())
      reportNote(problem.name +
                 ": states no versions of weights, so no task may read an old "
                 "one; --policy NAME allows it");
  return Success;
}

static std::vector<PolicyChoice>
policiesFor(const Problem &window, const WindowSearchRequest &request) {
  if (request.policies.empty())
    return {{window.versions.empty() ? "synchronous" : "", {}}};
  std::vector<PolicyChoice> policies;
  for (const std::string &name : request.policies)
    policies.push_back(
        {name, std::vector<VersionPolicy>(window.numStages(),
                                          findPolicy(name)->policy)});
  return policies;
}

WindowSearchResult runWindowSearch(const Problem &window,
                                   const WindowSearchRequest &request,
                                   const SearchOptions &options,
                                   const ArenasOfOrder &arenasOf) {
  WindowSearchOptions asked;
  asked.search = options;
  asked.policies = policiesFor(window, request);
  asked.maxDelay = request.maxDelay;
  if (request.microbatches.empty())
    return arenasOf ? searchFittingWindow(window, asked, arenasOf)
                    : searchWindow(window, asked);
  const auto count = static_cast<int64_t>(request.microbatches.size());
  asked.search.timeLimitMs = (options.timeLimitMs + count - 1) / count;
  asked.search.effort = (options.effort + count - 1) / count;
  std::optional<WindowSearchResult> best;
  int64_t effort = 0;
  double seconds = 0;
  for (int64_t each : request.microbatches) {
    WindowSearchResult result;
    Result<Problem> cut = cutAgain(window, each);
    if (!cut)
      result.fault = std::move(cut.fault());
    else
      result = searchWindow(*cut, asked);
    effort += result.effort;
    seconds += result.seconds;
    // The first fault stays if nothing fits.
    if (!best || (result.schedule &&
                  (!best->schedule ||
                   WindowJudge::isBetter(result.figures, best->figures))))
      best = std::move(result);
  }
  best->effort = effort;
  best->seconds = seconds;
  return std::move(*best);
}

} // namespace rondo::driver
