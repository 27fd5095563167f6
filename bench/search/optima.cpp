//===- optima.cpp - Problems whose optima are known -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/oracles.h"
#include "bench/search/table.h"

#include <cstdio>

using namespace rondo;

namespace {

/// Results compared with the known optima of the problems.
class Optima {
public:
  Optima(const Settings &settings, llvm::json::Value known)
      : settings(settings), known(std::move(known)) {}

  void measure(const Problem &problem) {
    Run run = searchIfFeasible(problem, settings, settings.limitMs);
    const SearchResult &result = run.result;
    ++count;
    seconds += run.seconds;
    proven += result.provenOptimal || !result.schedule;
    std::optional<int64_t> best;
    if (!booleanOf(known, problem.name, "infeasible"))
      best = integerIn(known, problem.name, "best_ns");
    const std::string note = ", bound " + std::to_string(result.bound.ns) +
                             " by " + printedBound(result.bound.name) +
                             ", found by " + result.origin;
    if (best && result.schedule)
      toBest.add(problem.name, run.objective, *best, note);
    if (!booleanOf(known, problem.name, "proven"))
      return;
    if (!best || !result.schedule) {
      ++infeasible;
      // Both must find that no schedule exists.
      if (best || result.schedule) {
        ++wrong;
        fprintf(stderr, "%s: %s, known: %s\n", problem.name.c_str(),
                result.schedule ? "a schedule" : "no schedule",
                best ? "a schedule" : "no schedule");
      }
      return;
    }
    // A claim that the optimum contradicts.
    if ((result.provenOptimal && run.objective != *best) ||
        result.bound.ns > *best || run.objective < *best) {
      ++wrong;
      fprintf(stderr, "%s: %lld ns with bound %lld ns, optimum %lld ns\n",
              problem.name.c_str(), (long long)run.objective,
              (long long)result.bound.ns, (long long)*best);
    }
    ratios.add(problem.name, run.objective, *best, note);
  }

  void print(const char *title) {
    if (!count)
      return;
    printf("| %s | optima known | met | infeasible | proven by Rondo | wrong "
           "claims | mean gap | worst gap | mean gap to the best known | worst "
           "| mean seconds |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n",
           title);
    printf("| %lld | %lld | %.2f %% | %lld | %.1f %% | %lld | %.4f %% | %.2f "
           "%% | %.4f %% | %.2f %% | %.4f |\n\n",
           count, ratios.count(),
           100.0 * (1 - double(ratios.worse) /
                            double(std::max(ratios.count(), 1LL))),
           infeasible, 100.0 * double(proven) / double(count), wrong,
           100 * (ratios.mean() - 1), 100 * (ratios.worst() - 1),
           100 * (toBest.mean() - 1), 100 * (toBest.worst() - 1),
           seconds / double(count));
    fflush(stdout);
    toBest.show(settings.show);
  }

private:
  const Settings &settings;
  const llvm::json::Value known;
  long long count = 0, proven = 0, infeasible = 0, wrong = 0;
  double seconds = 0;
  /// To the optima, and to the best known schedules, proven or not.
  Ratios ratios, toBest;
};

} // namespace

void measureOptima(const Settings &settings, const std::string &set) {
  std::vector<Problem> problems =
      readProblemsOrExit(settings.oracles + "/" + set + ".problems.jsonl");
  Optima optima(settings,
                readValueOrExit(settings.oracles + "/" + set + ".optima.json"));
  for (size_t i = 0; i < problems.size(); ++i)
    if (settings.takes(i, problems[i].name))
      optima.measure(problems[i]);
  optima.print((set + " problems").c_str());
}
