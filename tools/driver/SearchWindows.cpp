//===- SearchWindows.cpp - Searches of overlapping iterations -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/SearchWindows.h"

#include "dialect/Nearest.h"
#include "schedule/search/WindowJudge.h"
#include "schedule/transforms/CutAgain.h"
#include "schedule/transforms/Iterations.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace llvm;

namespace rondo::driver {

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
                ModuleFile &file, std::vector<Problem> &problems) {
  if (request.iterations > 0)
    for (Problem &problem : problems) {
      Result<Problem> window = overIterations(problem, request.iterations);
      if (!window)
        return reportErrorOf(problem, file, describe(window.fault(), problem));
      problem = *std::move(window);
    }
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
  const bool isModule = StringRef(arguments.file()).ends_with(".mlir");
  for (StringRef option : {"placement", "chunks"})
    if (arguments.has(option))
      return reportUsage("--" + option +
                         (isModule ? " searches plans of one iteration; leave "
                                     "out --iterations"
                                   : " needs a .mlir file; the placement of a "
                                     "rondo-problem is fixed"));
  const std::string output = arguments.text("output");
  const bool writesModule = StringRef(output).ends_with(".mlir");
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
    return reportUsage("--microbatches of a window needs a rondo-problem: the "
                       "layers of a plan take other times and bytes then");
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
    // The first fault stays where nothing fits.
    if (!best || (result.schedule &&
                  (!best->schedule ||
                   WindowJudge::isBetter(result.figures, best->figures))))
      best = std::move(result);
  }
  best->effort = effort;
  best->seconds = seconds;
  return std::move(*best);
}

/// `90 ns`, `181 ns for 2 iterations`.
static std::string textOf(const SettledTime &time) {
  if (time.ns % time.iterations == 0)
    return formatNs(time.ns / time.iterations);
  const int64_t common = std::gcd(time.ns, int64_t(time.iterations));
  return formatNs(time.ns / common) + " for " +
         countOf(time.iterations / common, "iteration");
}

std::string figuresOf(const WindowSearchResult &result) {
  const WindowFigures &figures = result.figures;
  std::string text =
      "iteration " + textOf(figures.time) +
      (figures.time.isExact ? ", " : " in the mean of its window, ");
  if (result.isOptimal)
    text += "optimal";
  else
    text += gapText(false, figures.time.ns,
                    result.boundNs * figures.time.iterations);
  const int64_t most =
      *std::max_element(figures.heldBytes.begin(), figures.heldBytes.end());
  text += "; " + (result.policy.empty() ? "" : result.policy + ", ") +
          result.origin + "; " +
          countOf(result.problem.microbatchesEach(), "micro-batch") +
          (figures.delay == 0
               ? ", no task late, "
               : ", at most " + countOf(figures.delay, "update") + " late, ") +
          countOf(figures.copies, "version") + ", " + formatBytes(most) +
          " on a rank";
  if (!result.unlimited)
    return text;
  const WindowFigures &unlimited = *result.unlimited;
  text += "; " + textOf(unlimited.time) + " would take ";
  if (result.shortRank >= 0) {
    const int32_t rank = result.shortRank;
    const int64_t held = unlimited.heldBytes[rank];
    const int64_t missing = held - result.problem.memoryCaps[rank];
    text += formatBytes(held) + " on rank " + std::to_string(rank) +
            (missing > 0 ? ", " + formatBytes(missing) + " more than it has"
                         : ", which its program's messages do not leave");
  }
  text += (result.shortRank >= 0 ? ", and " : "") + std::string("a delay of ") +
          countOf(unlimited.delay, "update");
  return text;
}

json::SearchRecord recordOf(const WindowSearchResult &result,
                            const SearchOptions &options) {
  json::SearchRecord record;
  // Of the window, which has its ramps as well.
  record.lowerBoundNs = result.boundNs * result.problem.iterations;
  record.bound = "L1";
  record.provenOptimal = result.simulation.makespanNs == record.lowerBoundNs;
  record.seed = options.seed;
  record.effort = result.effort;
  record.seconds = result.seconds;
  record.stopped = stopName(result.stop);
  const SettledTime &time = result.figures.time;
  record.iteration = {time.ns,
                      time.iterations,
                      time.isExact,
                      result.boundNs,
                      result.isOptimal,
                      result.policy,
                      result.figures.heldBytes};
  return record;
}

} // namespace rondo::driver
