//===- tight.cpp - Random problems under tight caps -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/ranks.h"
#include "bench/search/table.h"

#include <algorithm>
#include <cstdio>
#include <random>

using namespace rondo;

/// Placements of two to four stages per rank with different costs, under caps
/// from the least to 0.6 times as many micro-batches as ranks, in steps of one
/// activation.
void measureTight(const Settings &settings) {
  std::mt19937 random(1);
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  long long count = 0, proven = 0;
  double seconds = 0;
  Ratios gaps;
  for (size_t number = 0; number < 540; ++number) {
    const int32_t ranks = int32_t(pick(3, 8));
    const int32_t rows = int32_t(1) << pick(1, 2);
    const Shape shape = pick(0, 1) ? Shape::V : Shape::Looped;
    const Costs costs = {"tight",           pick(8000, 12000),
                         pick(8000, 13000), pick(3000, 12000),
                         pick(0, 3) * 400,  pick(0, 1) * 900,
                         pick(0, 1) * 1800};
    const int32_t microbatches = int32_t(pick(ranks, 3 * ranks));
    const int64_t activation = 8 / rows;
    const int64_t cap =
        activation *
        pick(rows, std::max<int64_t>(rows, 8 * ranks * 6 / (10 * activation)));
    Problem problem = rankProblem(costs, ranks, rows, microbatches, shape, cap);
    problem.name = "p" + std::to_string(ranks) + "-v" + std::to_string(rows) +
                   (shape == Shape::V ? "-wave" : "-looped") + "-m" +
                   std::to_string(microbatches) + "-cap" +
                   std::to_string(cap / activation);
    if (!settings.takes(number, problem.name))
      continue;
    Run run = searchOne(problem, settings, settings.limitMs);
    ++count;
    seconds += run.seconds;
    proven += run.result.provenOptimal;
    gaps.add(problem.name, run.objective, run.result.bound.ns);
  }
  if (!count)
    return;
  printf("| tight caps | proven by Rondo | mean gap to the bound | worst gap | "
         "mean seconds |\n|---|---|---|---|---|\n");
  printf("| %lld | %.1f %% | %.2f %% | %.2f %% | %.3f |\n\n", count,
         100.0 * double(proven) / double(count), 100 * (gaps.mean() - 1),
         100 * (gaps.worst() - 1), seconds / double(count));
  fflush(stdout);
  gaps.show(settings.show);
}
