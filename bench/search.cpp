//===- search.cpp - The search against optima, peers and size -------------===//
//
//   search [--oracles=FOLDER] [--limit-ms=N] [--every=N] [--from=N]
//          [--only=PART,...] [--clock=wall|cpu] [--show=N] [--match=TEXT]
//
// PART is small, makespan, span, neighbours or growth. FOLDER holds
// small.problems.jsonl, small.optima.json, peers.problems.jsonl and
// peers.best.json, by default ../shared/oracles where that is there. Every N-th
// problem or case is taken (default 9), from number --from on, whose name holds
// TEXT. --clock=cpu limits the processor time of the search, so that figures
// hold on a busy machine. --show prints the N worst cases by name.
//
//===----------------------------------------------------------------------===//

#include "schedule/Search.h"
#include "codegen/json/ProblemReader.h"
#include "schedule/Family.h"
#include "schedule/Legality.h"
#include "schedule/bounds/Chain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rondo;

namespace {

struct Settings {
  std::string oracles = "../shared/oracles";
  bool isGiven = false;
  int64_t limitMs = 1000;
  size_t every = 9, from = 0, show = 0;
  std::string only, match;
  bool isProcessorClock = false;

  bool takes(const char *part) const {
    if (only.empty())
      return true;
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(only).split(parts, ',');
    return llvm::is_contained(parts, part);
  }
  bool takes(size_t number, const std::string &name) const {
    return number % every == from % every &&
           name.find(match) != std::string::npos;
  }
};

double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

std::unique_ptr<llvm::MemoryBuffer> readOrExit(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    fprintf(stderr, "cannot read %s\n", path.c_str());
    exit(1);
  }
  return std::move(*buffer);
}

std::vector<Problem> readProblemsOrExit(const std::string &path) {
  auto file = json::readProblems(path, readOrExit(path)->getBuffer());
  if (!file) {
    fprintf(stderr, "%s: %s\n", path.c_str(),
            llvm::toString(file.takeError()).c_str());
    exit(1);
  }
  return std::move(file->problems);
}

llvm::json::Value readValueOrExit(const std::string &path) {
  auto value = llvm::json::parse(readOrExit(path)->getBuffer());
  if (!value) {
    fprintf(stderr, "%s: %s\n", path.c_str(),
            llvm::toString(value.takeError()).c_str());
    exit(1);
  }
  return std::move(*value);
}

int64_t integerOf(const llvm::json::Value &table, const std::string &name,
                  const char *key) {
  if (const auto *rows = table.getAsObject())
    if (const auto *row = rows->getObject(name))
      if (auto value = row->getInteger(key))
        return *value;
  fprintf(stderr, "there is no %s of %s\n", key, name.c_str());
  exit(1);
}

bool booleanOf(const llvm::json::Value &table, const std::string &name,
               const char *key) {
  const auto *row = table.getAsObject()->getObject(name);
  return row && row->getBoolean(key).value_or(false);
}

int64_t objectiveOf(const Problem &problem, const Simulation &simulation) {
  return problem.objective == Objective::Span ? simulation.spanNs
                                              : simulation.makespanNs;
}

struct Run {
  int64_t objective = 0;
  double seconds = 0;
  SearchResult result;
};

Run searchOne(const Problem &problem, const Settings &settings,
              int64_t limitMs) {
  SearchOptions options;
  options.timeLimitMs = limitMs;
  if (settings.isProcessorClock)
    options.clock = processorSeconds;
  const double begin = processorSeconds();
  Run run;
  run.result = search(problem, options);
  run.seconds = processorSeconds() - begin;
  if (!run.result.schedule) {
    fprintf(stderr, "%s: %s\n", problem.name.c_str(),
            run.result.reason.c_str());
    exit(1);
  }
  run.objective = objectiveOf(problem, run.result.simulation);
  return run;
}

/// Ratios to what is to be reached, with the names of the worst.
class Ratios {
public:
  void add(const std::string &name, int64_t found, int64_t reference,
           std::string note = {}) {
    rows.push_back({double(found) / double(reference), name, found, reference,
                    std::move(note)});
    sum += rows.back().ratio;
    worse += found > reference;
    better += found < reference;
  }
  double mean() const { return rows.empty() ? 1 : sum / double(rows.size()); }
  double worst() const {
    double most = 0;
    for (const Row &row : rows)
      most = std::max(most, row.ratio);
    return most;
  }
  /// The worst `most` of them, and all that are above 1.
  void show(size_t most) {
    std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
      return a.ratio > b.ratio;
    });
    for (size_t i = 0; i < rows.size(); ++i)
      if (i < most || (most > 0 && rows[i].found > rows[i].reference))
        fprintf(stderr, "%s: %lld ns, reference %lld ns, ratio %.4f%s\n",
                rows[i].name.c_str(), (long long)rows[i].found,
                (long long)rows[i].reference, rows[i].ratio,
                rows[i].note.c_str());
  }
  long long count() const { return (long long)rows.size(); }
  long long better = 0, worse = 0;

private:
  struct Row {
    double ratio;
    std::string name;
    int64_t found, reference;
    std::string note;
  };
  std::vector<Row> rows;
  double sum = 0;
};

void measureSmall(const Settings &settings) {
  std::vector<Problem> problems =
      readProblemsOrExit(settings.oracles + "/small.problems.jsonl");
  llvm::json::Value optima =
      readValueOrExit(settings.oracles + "/small.optima.json");
  long long count = 0, proven = 0, wrong = 0;
  double seconds = 0;
  Ratios ratios;
  for (size_t i = 0; i < problems.size(); ++i) {
    const std::string &name = problems[i].name;
    if (!settings.takes(i, name))
      continue;
    Run run = searchOne(problems[i], settings, settings.limitMs);
    ++count;
    seconds += run.seconds;
    proven += run.result.provenOptimal;
    if (!booleanOf(optima, name, "proven"))
      continue;
    const int64_t best = integerOf(optima, name, "best_ns");
    // A claim that the optimum contradicts.
    if ((run.result.provenOptimal && run.objective != best) ||
        run.result.bound.ns > best) {
      ++wrong;
      fprintf(stderr, "%s: %lld ns with bound %lld ns, optimum %lld ns\n",
              name.c_str(), (long long)run.objective,
              (long long)run.result.bound.ns, (long long)best);
    }
    ratios.add(name, run.objective, best);
  }
  if (!count)
    return;
  printf("| small problems | optima known | met | proven by Rondo | wrong "
         "claims | mean gap | worst gap | mean seconds |\n"
         "|---|---|---|---|---|---|---|---|\n");
  printf("| %lld | %lld | %.2f %% | %.1f %% | %lld | %.4f %% | %.2f %% | %.4f "
         "|\n\n",
         count, ratios.count(),
         100.0 * (1 - double(ratios.worse) / double(ratios.count())),
         100.0 * double(proven) / double(count), wrong,
         100 * (ratios.mean() - 1), 100 * (ratios.worst() - 1),
         seconds / double(count));
  fflush(stdout);
  ratios.show(settings.show);
}

/// One row for cases, each the best of several placements.
class CaseTable {
public:
  CaseTable(const Settings &settings, const char *reference)
      : settings(settings) {
    printf(
        "| cases | objective | better than %s | equal | worse | mean ratio "
        "| worst ratio | mean gap to the bound | worst gap | mean seconds a "
        "problem | longest |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
        reference);
  }

  /// `reference` takes what was found and the problems.
  void add(const std::string &name, std::vector<Problem *> placements,
           int64_t reference) {
    int64_t best = never, bound = never;
    std::string note;
    for (Problem *problem : placements) {
      Run run = searchOne(*problem, settings, settings.limitMs);
      bound = std::min(bound, run.result.bound.ns);
      if (run.objective < best) {
        best = run.objective;
        note = ", " + problem->name.substr(problem->name.find('/') + 1) +
               " by " + run.result.origin;
      }
      seconds += run.seconds;
      longest = std::max(longest, run.result.seconds);
      ++searched;
    }
    note += ", bound " + std::to_string(bound);
    ratios.add(name, best, reference, note);
    gaps.add(name, best, bound);
  }

  void print(const char *objective) {
    if (!ratios.count())
      return;
    printf("| %lld | %s | %lld | %lld | %lld | %.4f | %.4f | %.2f %% | %.2f %% "
           "| %.3f | %.3f |\n\n",
           ratios.count(), objective, ratios.better,
           ratios.count() - ratios.better - ratios.worse, ratios.worse,
           ratios.mean(), ratios.worst(), 100 * (gaps.mean() - 1),
           100 * (gaps.worst() - 1), seconds / double(searched), longest);
    fflush(stdout);
    ratios.show(settings.show);
  }

private:
  const Settings &settings;
  Ratios ratios, gaps;
  double seconds = 0, longest = 0;
  int64_t searched = 0;
};

/// A case is the best of its placements, which share a name up to the slash.
std::string caseOf(const Problem &problem) {
  return problem.name.substr(0, problem.name.find('/'));
}

void measurePeers(const Settings &settings, Objective objective) {
  const bool isSpan = objective == Objective::Span;
  std::vector<Problem> problems =
      readProblemsOrExit(settings.oracles + "/peers.problems.jsonl");
  llvm::json::Value peers =
      readValueOrExit(settings.oracles + "/peers.best.json");
  std::map<std::string, std::vector<Problem *>> cases;
  for (Problem &problem : problems) {
    problem.objective = objective;
    cases[caseOf(problem)].push_back(&problem);
  }
  CaseTable table(settings, "the best peer");
  size_t number = 0;
  for (auto &[name, placements] : cases)
    if (settings.takes(number++, name))
      table.add(name, placements,
                integerOf(peers, name, isSpan ? "span_ns" : "makespan_ns"));
  table.print(isSpan ? "span" : "makespan");
}

/// Costs of one rank and micro-batch, which its stages share.
struct Costs {
  const char *name;
  int64_t forwardNs, inputGradNs, weightGradNs, latencyNs;
  /// On top at the first and at the last stage.
  int64_t firstNs, lastNs;
};

enum class Shape : uint8_t { Looped, V };

Problem rankProblem(const Costs &costs, int32_t ranks, int32_t rows,
                    int32_t microbatches, Shape shape, int64_t capBytes) {
  Problem problem;
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, capBytes);
  const int32_t stages = ranks * rows;
  for (int32_t s = 0; s < stages; ++s) {
    const bool isDown = shape == Shape::Looped || s / ranks % 2 == 0;
    problem.stageRanks.push_back({isDown ? s % ranks : ranks - 1 - s % ranks});
  }
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t more =
        (s == 0 ? costs.firstNs : 0) + (s + 1 == stages ? costs.lastNs : 0);
    problem.setStageCost(s, costs.forwardNs / rows + more,
                         costs.inputGradNs / rows + more,
                         costs.weightGradNs / rows + more, 8 / rows, 0);
  }
  problem.makeChain(std::vector<int64_t>(stages, 0));
  problem.link.latencyNs = costs.latencyNs;
  return problem;
}

/// The least objective of a family that fits.
int64_t bestFamily(const Problem &problem) {
  int64_t best = never;
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult made = generate(choice, problem);
    Simulation simulation;
    if (auto *schedule = std::get_if<Schedule>(&made))
      if (!checkSchedule(problem, *schedule, &simulation))
        best = std::min(best, objectiveOf(problem, simulation));
  }
  return best;
}

/// Cases of the peers' kind with other costs, ranks and micro-batches, against
/// the families.
void measureNeighbours(const Settings &settings) {
  const Costs rows[] = {
      {"even", 9000, 9000, 9000, 200, 0, 0},
      {"slow links", 10000, 11500, 7000, 2400, 0, 0},
      {"light W", 8000, 9600, 3200, 320, 0, 0},
      {"heavy W", 10000, 9000, 12000, 700, 0, 0},
      {"heavy ends", 10000, 10400, 6400, 240, 900, 3600},
  };
  for (Objective objective : {Objective::Makespan, Objective::Span}) {
    CaseTable table(settings, "the best family");
    size_t number = 0;
    for (int32_t ranks : {6, 12, 24})
      for (int32_t microbatches : {ranks, ranks + 5, 3 * ranks - 1})
        for (int64_t percent : {60, 100, 150})
          for (const Costs &costs : rows) {
            const std::string name = std::string(costs.name) + "-p" +
                                     std::to_string(ranks) + "-m" +
                                     std::to_string(microbatches) + "-" +
                                     std::to_string(percent) + "%";
            if (!settings.takes(number++, name))
              continue;
            std::vector<Problem> placements;
            const struct {
              const char *name;
              int32_t rows;
              Shape shape;
            } shapes[] = {{"linear", 1, Shape::Looped},
                          {"looped2", 2, Shape::Looped},
                          {"v2", 2, Shape::V},
                          {"looped4", 4, Shape::Looped}};
            int64_t reference = never;
            for (const auto &shape : shapes) {
              placements.push_back(rankProblem(costs, ranks, shape.rows,
                                               microbatches, shape.shape,
                                               8 * ranks * percent / 100));
              placements.back().name = name + "/" + shape.name;
              placements.back().objective = objective;
              reference = std::min(reference, bestFamily(placements.back()));
            }
            std::vector<Problem *> pointers;
            for (Problem &problem : placements)
              pointers.push_back(&problem);
            table.add(name, pointers, reference);
          }
    table.print(objective == Objective::Span ? "span" : "makespan");
  }
}

void measureGrowth(const Settings &settings) {
  printf("| ranks | stages a rank | micro-batches | limit s | seconds | MiB | "
         "over the bound | stopped |\n|---|---|---|---|---|---|---|---|\n");
  const struct {
    int32_t ranks, rows, microbatches;
    int64_t limitMs;
  } sizes[] = {{16, 2, 128, 1000},    {32, 4, 128, 300},
               {64, 2, 512, 1000},    {256, 1, 4096, 10000},
               {256, 2, 4096, 10000}, {1024, 1, 8192, 60000}};
  const Costs costs = {"growth", 10000, 11000, 8000, 500, 0, 0};
  for (const auto &size : sizes) {
    const std::string name = "p" + std::to_string(size.ranks) + "-v" +
                             std::to_string(size.rows) + "-m" +
                             std::to_string(size.microbatches);
    if (name.find(settings.match) == std::string::npos)
      continue;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      Run run =
          searchOne(rankProblem(costs, size.ranks, size.rows, size.microbatches,
                                Shape::Looped, int64_t(8) * size.ranks),
                    settings, size.limitMs);
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      printf("| %d | %d | %d | %.1f | %.2f | %.0f | %.2f %% | %s |\n",
             size.ranks, size.rows, size.microbatches,
             double(size.limitMs) / 1000, run.result.seconds,
             double(usage.ru_maxrss) / 1024,
             100 * (double(run.objective) / double(run.result.bound.ns) - 1),
             stopName(run.result.stop));
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
      fprintf(stderr, "the search of %s did not end\n", name.c_str());
      exit(1);
    }
  }
}

Settings readArgumentsOrExit(int argc, char **argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    auto [key, value] = llvm::StringRef(argv[i]).split('=');
    bool isGood = true;
    auto number = [&](auto &into, int64_t least) {
      int64_t read = 0;
      isGood = !value.getAsInteger(10, read) && read >= least;
      into = read;
    };
    if (key == "--oracles") {
      settings.oracles = value.str();
      settings.isGiven = true;
    } else if (key == "--limit-ms") {
      number(settings.limitMs, 1);
    } else if (key == "--every") {
      number(settings.every, 1);
    } else if (key == "--from") {
      number(settings.from, 0);
    } else if (key == "--show") {
      number(settings.show, 0);
    } else if (key == "--only") {
      settings.only = value.str();
    } else if (key == "--match") {
      settings.match = value.str();
    } else if (key == "--clock") {
      settings.isProcessorClock = value == "cpu";
      isGood = value == "cpu" || value == "wall";
    } else {
      isGood = false;
    }
    if (!isGood) {
      fprintf(stderr, "cannot take '%s': see the head of bench/search.cpp\n",
              argv[i]);
      exit(2);
    }
  }
  return settings;
}

} // namespace

int main(int argc, char **argv) {
  const Settings settings = readArgumentsOrExit(argc, argv);
  if (settings.isGiven || access(settings.oracles.c_str(), R_OK) == 0) {
    if (settings.takes("small"))
      measureSmall(settings);
    if (settings.takes("makespan"))
      measurePeers(settings, Objective::Makespan);
    if (settings.takes("span"))
      measurePeers(settings, Objective::Span);
  }
  if (settings.takes("neighbours"))
    measureNeighbours(settings);
  if (settings.takes("growth"))
    measureGrowth(settings);
  return 0;
}
