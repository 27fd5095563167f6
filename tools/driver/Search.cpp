//===- Search.cpp - rondo search ------------------------------------------===//

#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/PlanSearch.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"

#include "llvm/Support/FileSystem.h"

#include <atomic>
#include <thread>

using namespace llvm;

namespace rondo::driver {

namespace {

cl::opt<std::string> inputPath(cl::Positional, cl::sub(searchSubCommand()),
                               cl::cat(category), cl::desc("FILE"));
cl::opt<std::string>
    problemsPath("problems", cl::sub(searchSubCommand()), cl::cat(category),
                 cl::value_desc("FILE"),
                 cl::desc("problems (rondo-problem/1); one without a schedule "
                          "does not stop the rest"));
cl::opt<std::string>
    costsPath("costs", cl::sub(searchSubCommand()), cl::cat(category),
              cl::value_desc("FILE"),
              cl::desc("measured times of the stages of a .mlir file "
                       "(rondo-costs/1)"));
cl::opt<std::string>
    problemOutput("problem-output", cl::sub(searchSubCommand()),
                  cl::cat(category), cl::value_desc("FILE"),
                  cl::desc("also write the problem of the chosen plan "
                           "(rondo-problem/1)"));
cl::opt<std::string> outputPath("output", cl::sub(searchSubCommand()),
                                cl::cat(category), cl::value_desc("FILE"),
                                cl::init("-"),
                                cl::desc("one rondo-schedule/1 line a problem, "
                                         "in their order; a .mlir file takes "
                                         "the chosen plan and its schedule "
                                         "(default: standard output)"));
cl::alias shortOutput("o", cl::aliasopt(outputPath), cl::cat(category),
                      cl::value_desc("FILE"), cl::desc("the same as --output"));
cl::opt<int64_t> threads("threads", cl::sub(searchSubCommand()),
                         cl::cat(category), cl::value_desc("N"), cl::init(1),
                         cl::desc("problems searched at a time (default 1)"));

struct Line {
  std::string text;
  /// Why there is no schedule; empty where there is one.
  std::string reason;
  /// Of the schedule, for people.
  std::string figures;
};

Line searchOne(const Problem &problem, const PlanFigures *plan,
               Progress &progress) {
  SearchResult result = runSearch(problem, progress, plan);
  Line line;
  raw_string_ostream os(line.text);
  if (!result.schedule) {
    line.reason = result.reason;
    json::writeInfeasible(os, problem, result.reason);
    return line;
  }
  line.figures = figuresOf(problem, result);
  json::SearchRecord record = recordOf(result);
  json::writeSchedule(os, problem, *result.schedule, result.simulation,
                      result.origin, &record);
  return line;
}

/// `plans` are those of the problems, or none.
std::vector<Line> searchAll(const std::vector<Problem> &problems,
                            const std::vector<PlanFigures> &plans) {
  std::vector<Line> lines(problems.size());
  std::atomic<size_t> next{0};
  Progress progress(problems.size());
  auto work = [&] {
    for (size_t i; (i = next++) < problems.size();)
      lines[i] =
          searchOne(problems[i], plans.empty() ? nullptr : &plans[i], progress);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads && size_t(i) < problems.size(); ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
  return lines;
}

/// What is in the file that was written.
void reportWritten(const std::vector<Line> &lines) {
  if (outputPath == "-" || isSpecialFile(outputPath))
    return;
  const size_t found =
      count_if(lines, [](const Line &line) { return line.reason.empty(); });
  outs() << "wrote " << outputPath << ": ";
  if (lines.size() == 1 && found == 1)
    outs() << lines.front().figures << "\n";
  else
    outs() << countOf(lines.size(), "problem") << ", " << found
           << " with a schedule\n";
}

/// The plan of a .mlir file, perhaps in another shape.
int searchShapes(const std::string &path) {
  if (searchOptions().robustness)
    return reportUsage("--robust chooses among schedules of a plan as it is "
                       "written; leave out --placement, --chunks, "
                       "--microbatches, --problem-output and an output in the "
                       "language");
  if (!StringRef(path).ends_with(".mlir"))
    return reportUsage("--placement, --chunks, --microbatches, "
                       "--problem-output and an output in the language need a "
                       ".mlir file; a rondo-problem/1 line says where its "
                       "stages lie");
  if (!costsPath.empty())
    return reportUsage("--costs measures the stages that a plan has; other "
                       "plans need times of the layers");
  return searchPlans({path, shapeRequest(), outputPath, problemOutput});
}

int run() {
  if (inputPath.empty() && problemsPath.empty())
    return reportUsage(
        "search needs a .mlir or problem file, or --problems FILE");
  if (!inputPath.empty() && !problemsPath.empty())
    return reportUsage("search got " + inputPath + " and --problems " +
                       problemsPath + "; it takes one of them");
  if (int code = checkSearchOptions())
    return code;
  if (threads < 1)
    return reportUsage("--threads is " + Twine(threads) +
                       "; it must be 1 or more");
  const std::string &path = inputPath.empty() ? problemsPath : inputPath;
  if (sys::fs::equivalent(path, outputPath))
    return reportUsage("--output names the input, " + path);
  if (Error error = checkWritable(outputPath))
    return reportError(toString(std::move(error)));
  if (!shapeRequest().isEmpty() || !problemOutput.empty() ||
      StringRef(outputPath).ends_with(".mlir"))
    return searchShapes(path);
  std::vector<Problem> problems;
  std::vector<PlanFigures> plans;
  if (int code = readProblemsOrPlans(path, costsPath, problems, plans))
    return code;
  applyObjective(problems);
  Interrupt interrupt;
  std::vector<Line> lines = searchAll(problems, plans);
  Error error = writeFile(outputPath, [&](raw_ostream &os) {
    for (const Line &line : lines)
      os << line.text << "\n";
    return Error::success();
  });
  if (error)
    return reportError(toString(std::move(error)));
  reportWritten(lines);
  if (Interrupt::happened())
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
      &searchSubCommand(),
      "FILE [-o FILE] [OPTIONS]\n"
      "       rondo search --problems FILE [-o FILE] [OPTIONS]\n"
      "       rondo search FILE [--placement LIST] [--chunks LIST] "
      "[--microbatches LIST] [-o FILE] [OPTIONS]\n"
      "       rondo search FILE --robust NAME [--samples N] "
      "[--jitter PERCENT] [-o FILE] [OPTIONS]",
      "  rondo search examples/gpt-small.mlir --effort 1000\n"
      "  rondo search examples/gpt-small.mlir --placement auto -o best.mlir\n"
      "  rondo search problem.json --objective span\n"
      "  rondo search --problems problems.jsonl --output schedules.jsonl "
      "--time-limit-ms 300\n",
      nullptr, run};
  return command;
}

} // namespace rondo::driver
