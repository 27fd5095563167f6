//===- search.cpp - The search against optima, peers and size -------------===//
//
//   search [ORACLES [TIME_LIMIT_MS [EVERY]]]
//
// ORACLES holds small.problems.jsonl, small.optima.json, peers.problems.jsonl
// and peers.best.json, by default ../shared/oracles where that is there; EVERY
// n (default 9) takes each n-th problem or case. Seconds are of the processor;
// each size of the growth runs in a process of its own.
//
//===----------------------------------------------------------------------===//

#include "schedule/Search.h"
#include "codegen/json/ProblemReader.h"
#include "schedule/bounds/Chain.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rondo;

namespace {

double processorSeconds() { return double(clock()) / CLOCKS_PER_SEC; }

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

struct Run {
  int64_t objective = 0;
  double seconds = 0;
  SearchResult result;
};

Run searchOne(const Problem &problem, int64_t timeLimitMs) {
  SearchOptions options;
  options.timeLimitMs = timeLimitMs;
  const double begin = processorSeconds();
  Run run;
  run.result = search(problem, options);
  run.seconds = processorSeconds() - begin;
  if (!run.result.schedule) {
    fprintf(stderr, "%s: %s\n", problem.name.c_str(),
            run.result.reason.c_str());
    exit(1);
  }
  run.objective = problem.objective == Objective::Span
                      ? run.result.simulation.spanNs
                      : run.result.simulation.makespanNs;
  return run;
}

void measureSmall(const std::string &folder, int64_t timeLimitMs,
                  size_t every) {
  std::vector<Problem> problems =
      readProblemsOrExit(folder + "/small.problems.jsonl");
  llvm::json::Value optima = readValueOrExit(folder + "/small.optima.json");
  int64_t rows = 0, known = 0, met = 0, proven = 0, wrong = 0;
  double gap = 0, worst = 0, seconds = 0;
  for (size_t i = 0; i < problems.size(); i += every) {
    Run run = searchOne(problems[i], timeLimitMs);
    ++rows;
    seconds += run.seconds;
    proven += run.result.provenOptimal;
    if (!booleanOf(optima, problems[i].name, "proven"))
      continue;
    const int64_t best = integerOf(optima, problems[i].name, "best_ns");
    // A claim that the optimum contradicts.
    if ((run.result.provenOptimal && run.objective != best) ||
        run.result.bound.ns > best) {
      ++wrong;
      fprintf(stderr, "%s: %lld ns with bound %lld ns, optimum %lld ns\n",
              problems[i].name.c_str(), (long long)run.objective,
              (long long)run.result.bound.ns, (long long)best);
    }
    const double over = double(run.objective) / double(best) - 1;
    ++known;
    met += run.objective == best;
    gap += over;
    worst = std::max(worst, over);
  }
  printf("| small problems | optima known | met | proven by Rondo | wrong "
         "claims | mean gap | worst gap | mean seconds |\n"
         "|---|---|---|---|---|---|---|---|\n");
  printf("| %lld | %lld | %.2f %% | %.1f %% | %lld | %.4f %% | %.2f %% | %.4f "
         "|\n\n",
         (long long)rows, (long long)known, 100.0 * double(met) / double(known),
         100.0 * double(proven) / double(rows), (long long)wrong,
         100 * gap / double(known), 100 * worst, seconds / double(rows));
}

/// A case is the best of its placements, which share a name up to the slash.
void measurePeers(const std::string &folder, Objective objective,
                  int64_t timeLimitMs, size_t every) {
  std::vector<Problem> problems =
      readProblemsOrExit(folder + "/peers.problems.jsonl");
  llvm::json::Value peers = readValueOrExit(folder + "/peers.best.json");
  std::map<std::string, std::vector<Problem *>> cases;
  for (Problem &problem : problems)
    cases[problem.name.substr(0, problem.name.find('/'))].push_back(&problem);
  const bool isSpan = objective == Objective::Span;
  int64_t rows = 0, worse = 0, better = 0, searched = 0;
  double ratio = 0, worst = 0, seconds = 0, longest = 0;
  size_t number = 0;
  for (auto &[name, placements] : cases) {
    if (number++ % every)
      continue;
    int64_t best = never;
    for (Problem *problem : placements) {
      problem->objective = objective;
      Run run = searchOne(*problem, timeLimitMs);
      best = std::min(best, run.objective);
      seconds += run.seconds;
      longest = std::max(longest, run.result.seconds);
      ++searched;
    }
    const int64_t peer =
        integerOf(peers, name, isSpan ? "span_ns" : "makespan_ns");
    ++rows;
    worse += best > peer;
    better += best < peer;
    ratio += double(best) / double(peer);
    worst = std::max(worst, double(best) / double(peer));
    if (best > peer)
      fprintf(stderr, "%s: %lld ns, best peer %lld ns\n", name.c_str(),
              (long long)best, (long long)peer);
  }
  printf("| cases, %s | better than the best peer | worse | mean ratio | worst "
         "ratio | mean seconds a problem | longest wall seconds |\n"
         "|---|---|---|---|---|---|---|\n",
         isSpan ? "span" : "makespan");
  printf("| %lld | %lld | %lld | %.4f | %.4f | %.3f | %.3f |\n\n",
         (long long)rows, (long long)better, (long long)worse,
         ratio / double(rows), worst, seconds / double(searched), longest);
}

Problem uniformProblem(int32_t ranks, int32_t rows, int32_t microbatches) {
  Problem problem;
  problem.name = "growth";
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, int64_t(8) * ranks);
  for (int32_t s = 0; s < ranks * rows; ++s)
    problem.stageRanks.push_back({s % ranks});
  for (int32_t s = 0; s < ranks * rows; ++s)
    problem.setStageCost(s, 10000 / rows, 11000 / rows, 8000 / rows, 8 / rows,
                         0);
  problem.makeChain(std::vector<int64_t>(size_t(ranks) * rows, 0));
  problem.link.latencyNs = 500;
  return problem;
}

void measureGrowth() {
  printf("| ranks | stages a rank | micro-batches | limit s | wall s | MiB | "
         "over the bound |\n|---|---|---|---|---|---|---|\n");
  const struct {
    int32_t ranks, rows, microbatches;
    int64_t limitMs;
  } sizes[] = {{16, 2, 128, 1000},
               {64, 2, 512, 1000},
               {256, 1, 4096, 10000},
               {1024, 1, 8192, 60000}};
  for (const auto &size : sizes) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      Run run =
          searchOne(uniformProblem(size.ranks, size.rows, size.microbatches),
                    size.limitMs);
      rusage usage;
      getrusage(RUSAGE_SELF, &usage);
      printf("| %d | %d | %d | %.0f | %.2f | %.0f | %.2f %% |\n", size.ranks,
             size.rows, size.microbatches, double(size.limitMs) / 1000,
             run.result.seconds, double(usage.ru_maxrss) / 1024,
             100 * (double(run.objective) / double(run.result.bound.ns) - 1));
      fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
      fprintf(stderr, "the search of %d ranks did not end\n", size.ranks);
      exit(1);
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/oracles";
  const int64_t timeLimitMs = argc > 2 ? atoll(argv[2]) : 1000;
  const size_t every = argc > 3 ? size_t(std::max(1, atoi(argv[3]))) : 9;
  if (argc > 1 || access(folder.c_str(), R_OK) == 0) {
    measureSmall(folder, timeLimitMs, every);
    for (Objective objective : {Objective::Makespan, Objective::Span})
      measurePeers(folder, objective, timeLimitMs, every);
  }
  measureGrowth();
  return 0;
}
