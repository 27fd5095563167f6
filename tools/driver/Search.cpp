//===- Search.cpp - rondo search ------------------------------------------===//

#include "schedule/Search.h"
#include "codegen/json/ProblemReader.h"
#include "codegen/json/ScheduleWriter.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <mutex>
#include <thread>

using namespace llvm;

namespace rondo::driver {

namespace {

cl::SubCommand searchOptions("search",
                             "find schedules under memory caps, with a bound");

cl::opt<std::string> inputPath(cl::Positional, cl::sub(searchOptions),
                               cl::cat(category), cl::desc("FILE"));
cl::opt<std::string>
    problemsPath("problems", cl::sub(searchOptions), cl::cat(category),
                 cl::value_desc("FILE"),
                 cl::desc("problems (rondo-problem/1); one without a schedule "
                          "does not stop the rest"));
cl::opt<std::string>
    costsPath("costs", cl::sub(searchOptions), cl::cat(category),
              cl::value_desc("FILE"),
              cl::desc("measured times of the stages of a .mlir file "
                       "(rondo-costs/1)"));
cl::opt<std::string> outputPath("output", cl::sub(searchOptions),
                                cl::cat(category), cl::value_desc("FILE"),
                                cl::init("-"),
                                cl::desc("one rondo-schedule/1 line a problem, "
                                         "in their order (default: -)"));
cl::opt<int64_t> timeLimit("time-limit-ms", cl::sub(searchOptions),
                           cl::cat(category), cl::value_desc("N"),
                           cl::init(1000),
                           cl::desc("wall time for a problem; 0: none (default "
                                    "1000, with --effort none)"));
cl::opt<int64_t> effort("effort", cl::sub(searchOptions), cl::cat(category),
                        cl::value_desc("N"), cl::init(0),
                        cl::desc("work for a problem, in 1,000 tasks placed "
                                 "or timed"));
cl::opt<uint64_t> seed("seed", cl::sub(searchOptions), cl::cat(category),
                       cl::value_desc("N"), cl::init(0),
                       cl::desc("first number of the random choices"));
cl::opt<int> threads("threads", cl::sub(searchOptions), cl::cat(category),
                     cl::value_desc("N"), cl::init(1),
                     cl::desc("problems searched at a time (default 1)"));
cl::opt<std::string> objective("objective", cl::sub(searchOptions),
                               cl::cat(category), cl::value_desc("NAME"),
                               cl::desc("makespan or span; default: what the "
                                        "problem says"));

std::atomic<bool> isInterrupted{false};

struct Line {
  std::string text;
  /// Why there is no schedule; empty where there is one.
  std::string reason;
};

Line searchOne(const Problem &problem) {
  SearchOptions options;
  options.seed = seed;
  options.effort = effort;
  options.timeLimitMs =
      effort > 0 && !timeLimit.getNumOccurrences() ? 0 : timeLimit;
  options.interrupt = &isInterrupted;
  SearchResult result = search(problem, options);
  Line line;
  raw_string_ostream os(line.text);
  if (!result.schedule) {
    line.reason = result.reason;
    json::writeInfeasible(os, problem, result.reason);
    return line;
  }
  json::SearchRecord record;
  record.lowerBoundNs = result.bound.ns;
  record.bound = result.bound.name;
  record.provenOptimal = result.provenOptimal;
  record.seed = options.seed;
  record.effort = result.effort;
  record.seconds = result.seconds;
  record.stopped = stopName(result.stop);
  json::writeSchedule(os, problem, *result.schedule, result.simulation,
                      result.origin, &record);
  return line;
}

/// How many problems are done, on a terminal only.
class Progress {
public:
  explicit Progress(size_t count)
      : count(count),
        isShown(count > 1 && sys::Process::StandardErrIsDisplayed()) {}
  ~Progress() {
    if (isShown)
      errs() << "\r\x1b[K";
  }
  void step() {
    std::lock_guard<std::mutex> lock(mutex);
    ++done;
    if (isShown)
      errs() << "\r" << done << " of " << count << " problems";
  }

private:
  const size_t count;
  const bool isShown;
  size_t done = 0;
  std::mutex mutex;
};

std::vector<Line> searchAll(const std::vector<Problem> &problems) {
  std::vector<Line> lines(problems.size());
  std::atomic<size_t> next{0};
  Progress progress(problems.size());
  auto work = [&] {
    for (size_t i; (i = next++) < problems.size();) {
      lines[i] = searchOne(problems[i]);
      progress.step();
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads && size_t(i) < problems.size(); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
  return lines;
}

/// Problems of a rondo-problem/1 file, or the plans of a .mlir file.
int readInput(const std::string &path, std::vector<Problem> &problems) {
  if (StringRef(path).ends_with(".mlir")) {
    ModuleFile file;
    return readPlans(file, path, costsPath, problems);
  }
  if (!costsPath.empty())
    return reportUsage("--costs needs a .mlir file");
  Expected<std::unique_ptr<MemoryBuffer>> contents = readFile(path);
  if (!contents)
    return reportError(toString(contents.takeError()));
  Expected<json::ProblemFile> file =
      json::readProblems(path, (*contents)->getBuffer());
  if (!file)
    return reportError(path + ": " + toString(file.takeError()));
  problems = std::move(file->problems);
  return Success;
}

int run() {
  if (inputPath.empty() == problemsPath.empty())
    return reportUsage(
        "search needs a .mlir or problem file, or --problems FILE");
  if (!objective.empty() && objective != "makespan" && objective != "span")
    return reportUsage("--objective is '" + objective +
                       "'; it must be makespan or span");
  if (timeLimit < 0 || effort < 0)
    return reportUsage("--time-limit-ms and --effort must be 0 or more");
  if (threads < 1)
    return reportUsage("--threads is " + Twine(threads) +
                       "; it must be 1 or more");
  const std::string &path = inputPath.empty() ? problemsPath : inputPath;
  std::vector<Problem> problems;
  if (int code = readInput(path, problems))
    return code;
  if (!objective.empty())
    for (Problem &problem : problems)
      problem.objective =
          objective == "span" ? Objective::Span : Objective::Makespan;
  sys::SetInterruptFunction([] { isInterrupted = true; });
  std::vector<Line> lines = searchAll(problems);
  Error error = writeFile(outputPath, [&](raw_ostream &os) {
    for (const Line &line : lines)
      os << line.text << "\n";
    return Error::success();
  });
  if (error)
    return reportError(toString(std::move(error)));
  if (isInterrupted)
    return Interrupted;
  // A batch goes on; a single problem is the whole question.
  if (problemsPath.empty() && lines.size() == 1 && !lines[0].reason.empty()) {
    reportError(problems[0].name + ": " + lines[0].reason);
    return Infeasible;
  }
  return Success;
}

} // namespace

const Command &searchCommand() {
  static const Command command = {
      &searchOptions,
      "FILE\n       rondo search --problems FILE --output FILE "
      "[--time-limit-ms N] [--effort N] [--seed N] [--threads N]",
      "  rondo search examples/gpt-small.mlir --effort 1000\n"
      "  rondo search problem.json --objective span\n"
      "  rondo search --problems problems.jsonl --output schedules.jsonl "
      "--time-limit-ms 300\n",
      nullptr, run};
  return command;
}

} // namespace rondo::driver
