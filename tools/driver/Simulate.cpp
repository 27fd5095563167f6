//===- Simulate.cpp - rondo simulate --------------------------------------===//

#include "codegen/json/ProblemReader.h"
#include "codegen/json/ScheduleWriter.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Evaluate.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Table.h"
#include "tools/driver/Timeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

using namespace llvm;

namespace rondo::driver {

namespace {

cl::SubCommand simulate("simulate", "time and memory of schedules");

cl::opt<std::string> inputPath(cl::Positional, cl::sub(simulate),
                               cl::cat(category), cl::desc("FILE"));
cl::list<std::string>
    familyTexts("family", cl::sub(simulate), cl::cat(category),
                cl::value_desc("NAME"),
                cl::desc("a family such as 1f1b or kfkb:k=2, or all; may be "
                         "given several times"));
cl::opt<bool> withTimeline("timeline", cl::sub(simulate), cl::cat(category),
                           cl::desc("print each schedule over time as text"));
cl::opt<bool> asJson("json", cl::sub(simulate), cl::cat(category),
                     cl::desc("print one rondo-schedule/1 line a family and "
                              "nothing else"));

void printFamilies(raw_ostream &os) {
  os << "families:\n";
  for (const Family &family : families()) {
    std::string name = family.name;
    char separator = ':';
    for (const FamilyParameter &parameter : family.parameters) {
      name += separator + std::string(parameter.name) + "=" +
              std::to_string(parameter.defaultValue);
      separator = ',';
    }
    os << "  " << left_justify(name, 24) << family.summary << "\n";
    for (const FamilyParameter &parameter : family.parameters)
      os << "  " << left_justify("", 24) << parameter.name << ": "
         << parameter.summary << ", at least " << parameter.minimum << "\n";
  }
}

/// `[6, 4, 2]` for few ranks, the extremes for many.
std::string peakText(const std::vector<int64_t> &peaks) {
  if (peaks.size() <= 8) {
    std::string text;
    for (int64_t bytes : peaks)
      text += (text.empty() ? "" : ", ") + formatBytes(bytes);
    return text;
  }
  auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
  auto extreme = [&](auto it) {
    return formatBytes(*it) + " (rank " + std::to_string(it - peaks.begin()) +
           ")";
  };
  return extreme(least) + " to " + extreme(most);
}

std::string bubbleText(double bubble) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * bubble);
  return text;
}

/// How the schedules of one problem end.
struct Outcome {
  bool hasSchedule = false;
  bool isOverCap = false;
};

/// Prints the schedules of one problem, one after the other, so that only one
/// is in memory.
class Reporter {
public:
  explicit Reporter(const Problem &problem) : problem(problem) {
    table.add({"family", "makespan", "span", "bubble", "peak memory by rank"});
  }

  void add(const Candidate &candidate) {
    outcome.hasSchedule |= candidate.schedule.has_value();
    outcome.isOverCap |= candidate.isOverCap;
    if (asJson)
      return addJson(candidate);
    if (!candidate.schedule) {
      table.add({candidate.name,
                 (candidate.isOverCap ? "does not fit: " : "no schedule: ") +
                     candidate.reason});
      return;
    }
    const Simulation &run = candidate.simulation;
    table.add({candidate.name, formatNs(run.makespanNs), formatNs(run.spanNs),
               bubbleText(run.bubble), peakText(run.peakBytes)});
    if (withTimeline)
      timelines += "\n" + candidate.name + "\n" +
                   renderTimeline(problem, *candidate.schedule, run, width(),
                                  outs().has_colors());
  }

  Outcome finish() {
    if (!asJson) {
      outs() << problem.name << ": " << countOf(problem.numStages(), "stage")
             << " on " << countOf(problem.numRanks(), "rank") << ", "
             << problem.microbatches << " micro-batches" << "\n";
      table.print(outs());
      outs() << timelines;
    }
    return outcome;
  }

private:
  void addJson(const Candidate &candidate) {
    if (!candidate.schedule) {
      reportNote(problem.name + ": " + candidate.name + ": " +
                 candidate.reason);
      return;
    }
    json::writeSchedule(outs(), problem, *candidate.schedule,
                        candidate.simulation, candidate.family);
    outs() << "\n";
  }

  static int width() {
    unsigned columns = sys::Process::StandardOutColumns();
    return columns ? columns : 100;
  }

  const Problem &problem;
  Table table;
  std::string timelines;
  Outcome outcome;
};

/// The families that the command line asks for; all of them by default.
/// Either choices or what is wrong with the command line.
Expected<std::vector<FamilyChoice>> chooseFamilies() {
  std::vector<FamilyChoice> choices;
  auto choose = [&](const std::string &text) -> Error {
    auto choice = parseFamily(text);
    if (auto *fault = std::get_if<std::string>(&choice))
      return createStringError(inconvertibleErrorCode(), *fault);
    choices.push_back(std::get<FamilyChoice>(choice));
    return Error::success();
  };
  std::vector<std::string> texts(familyTexts.begin(), familyTexts.end());
  if (texts.empty())
    texts.push_back("all");
  for (const std::string &text : texts) {
    if (text != "all") {
      if (Error error = choose(text))
        return error;
      continue;
    }
    for (const Family &family : families())
      if (Error error = choose(family.name))
        return error;
  }
  return choices;
}

/// A batch is fine although some of its problems have no schedule.
int exitCodeOf(const std::vector<Outcome> &outcomes) {
  if (outcomes.size() != 1 || outcomes.front().hasSchedule)
    return Success;
  return outcomes.front().isOverCap ? Infeasible : Failure;
}

int simulateProblems(StringRef contents,
                     const std::vector<FamilyChoice> &choices) {
  Expected<json::ProblemFile> file = json::readProblems(inputPath, contents);
  if (!file)
    return reportError(inputPath + ": " + toString(file.takeError()));
  std::vector<Outcome> outcomes;
  for (const Problem &problem : file->problems) {
    if (std::optional<std::string> why = whyInfeasible(problem)) {
      if (asJson) {
        json::writeInfeasible(outs(), problem, *why);
        outs() << "\n";
      }
      reportError(problem.name + ": " + *why);
      outcomes.push_back({false, true});
      continue;
    }
    Reporter reporter(problem);
    for (const FamilyChoice &choice : choices)
      reporter.add(evaluate(choice, problem, withTimeline));
    outcomes.push_back(reporter.finish());
  }
  return exitCodeOf(outcomes);
}

int run() {
  if (inputPath.empty())
    return reportUsage("simulate needs a file");
  if (asJson && withTimeline)
    return reportUsage("--timeline is text and does not go with --json");
  Expected<std::vector<FamilyChoice>> choices = chooseFamilies();
  if (!choices)
    return reportUsage(toString(choices.takeError()));
  Expected<std::unique_ptr<MemoryBuffer>> contents = readFile(inputPath);
  if (!contents)
    return reportError(toString(contents.takeError()));
  return simulateProblems((*contents)->getBuffer(), *choices);
}

} // namespace

const Command &simulateCommand() {
  static const Command command = {
      &simulate, "FILE [--family NAME]... [--timeline | --json]",
      "  rondo simulate problem.json --family kfkb:k=2 --timeline\n"
      "  rondo simulate problems.jsonl --family all --json > schedules.jsonl\n",
      printFamilies, run};
  return command;
}

} // namespace rondo::driver
