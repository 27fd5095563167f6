//===- SearchRun.cpp - Searches that the command line asks for ------------===//

#include "tools/driver/SearchRun.h"

#include "schedule/Objective.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo::driver {

cl::SubCommand &searchSubCommand() {
  static cl::SubCommand command("search",
                                "find schedules under memory caps, with a "
                                "bound");
  return command;
}

cl::SubCommand &compareSubCommand() {
  static cl::SubCommand command("compare",
                                "all families and a searched schedule in one "
                                "table");
  return command;
}

namespace {

cl::opt<int64_t> timeLimit("time-limit-ms", cl::sub(searchSubCommand()),
                           cl::sub(compareSubCommand()), cl::cat(category),
                           cl::value_desc("N"), cl::init(1000),
                           cl::desc("wall time for a problem; 0: none (default "
                                    "1000, with --effort none)"));
cl::opt<int64_t> effort("effort", cl::sub(searchSubCommand()),
                        cl::sub(compareSubCommand()), cl::cat(category),
                        cl::value_desc("N"), cl::init(0),
                        cl::desc("work for a problem, in 1,000 tasks placed "
                                 "or timed, 1 or more (default: by its size)"));
cl::opt<uint64_t>
    seed("seed", cl::sub(searchSubCommand()), cl::sub(compareSubCommand()),
         cl::cat(category), cl::value_desc("N"), cl::init(0),
         cl::desc("first number of the random choices (default 0)"));
cl::opt<std::string> objective("objective", cl::sub(searchSubCommand()),
                               cl::sub(compareSubCommand()), cl::cat(category),
                               cl::value_desc("makespan|span"),
                               cl::desc("what is to be short (default: what "
                                        "the problem says)"));

cl::opt<std::string> robust("robust", cl::sub(searchSubCommand()),
                            cl::cat(category), cl::value_desc("mean|p95"),
                            cl::desc("choose by this of the objective over "
                                     "sampled times"));
cl::opt<int64_t> samples("samples", cl::sub(searchSubCommand()),
                         cl::cat(category), cl::value_desc("N"), cl::init(64),
                         cl::desc("samples of --robust (default 64)"));
cl::opt<int64_t> jitter("jitter", cl::sub(searchSubCommand()),
                        cl::cat(category), cl::value_desc("PERCENT"),
                        cl::init(10),
                        cl::desc("how far a sampled time is from the problem's "
                                 "(default 10)"));

int checkRobust() {
  if (robust.empty() &&
      (samples.getNumOccurrences() || jitter.getNumOccurrences()))
    return reportUsage("--samples and --jitter need --robust mean or p95");
  if (samples < 1 || samples > 1000)
    return reportUsage("--samples is " + Twine(samples) +
                       "; it must be 1 to 1000");
  if (jitter < 0 || jitter > 99)
    return reportUsage("--jitter is " + Twine(jitter) +
                       "; it must be 0 to 99 percent");
  return Success;
}

} // namespace

int checkSearchOptions() {
  if (timeLimit < 0)
    return reportUsage("--time-limit-ms is " + Twine(timeLimit) +
                       "; it must be 0 or more, and 0 is no limit");
  return checkRobust();
}

std::string limitOption() {
  return searchOptions().timeLimitMs > 0 ? "--time-limit-ms" : "--effort";
}

std::optional<Objective> wantedObjective() {
  if (objective.empty())
    return std::nullopt;
  return objective == "span" ? Objective::Span : Objective::Makespan;
}

void applyObjective(MutableArrayRef<Problem> problems) {
  if (std::optional<Objective> wanted = wantedObjective())
    for (Problem &problem : problems)
      problem.objective = *wanted;
}

SearchOptions searchOptions() {
  SearchOptions options;
  options.seed = seed;
  options.effort = effort;
  options.timeLimitMs =
      effort > 0 && !timeLimit.getNumOccurrences() ? 0 : timeLimit;
  options.interrupt = Interrupt::flag();
  if (!robust.empty())
    options.robustness = {robust == "mean"
                              ? Robustness::Statistic::Mean
                              : Robustness::Statistic::Percentile95,
                          int32_t(samples), int32_t(jitter)};
  return options;
}

SearchResult runSearch(const Problem &problem, Progress &progress,
                       const PlanFigures *plan) {
  SearchOptions options = searchOptions();
  options.observer = [&](const SearchProgress &now) {
    progress.show(problem, problem.name, now);
  };
  SearchResult result = plan ? searchPlan(*plan, problem, options, search)
                             : search(problem, options);
  progress.step();
  return result;
}

SearchResult runSearch(const Problem &problem, const PlanFigures *plan) {
  Progress progress(1);
  return runSearch(problem, progress, plan);
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
         gapText(result.provenOptimal, reached, result.bound.ns);
}

json::SearchRecord recordOf(const SearchResult &result) {
  json::SearchRecord record;
  record.lowerBoundNs = result.bound.ns;
  record.bound = result.bound.name;
  record.provenOptimal = result.provenOptimal;
  record.seed = seed;
  record.effort = result.effort;
  record.seconds = result.seconds;
  record.stopped = stopName(result.stop);
  record.robust = robust;
  record.samples = result.robustSamples;
  record.jitterPercent = jitter;
  record.robustNs = result.robustNs;
  return record;
}

int readProblemsOrPlans(const std::string &path, const std::string &costsPath,
                        std::vector<Problem> &problems,
                        std::vector<PlanFigures> &figures) {
  if (StringRef(path).ends_with(".mlir")) {
    ModuleFile file;
    return readPlans(file, path, costsPath, problems, figures);
  }
  if (!costsPath.empty())
    return reportUsage("--costs needs a .mlir file");
  return readProblems(path, problems);
}

} // namespace rondo::driver
