//===- small.cpp - Small problems, against their optima -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/oracles.h"
#include "bench/search/table.h"

#include <cstdio>

using namespace rondo;

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
