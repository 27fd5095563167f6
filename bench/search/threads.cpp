//===- threads.cpp - The work of several threads in the same time ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/measure.h"
#include "bench/search/ranks.h"

#include <algorithm>
#include <cstdio>

using namespace rondo;

/// Tasks placed or timed within the limit, in thousands: the median of three
/// runs, of which those with one thread and with several take turns.
void measureThreads(const Settings &settings) {
  printf("| ranks | stages a rank | micro-batches | tasks | effort, 1 thread | "
         "%lld threads | ratio | over the bound | with threads |\n"
         "|---|---|---|---|---|---|---|---|---|\n",
         (long long)settings.threads);
  const struct {
    int32_t ranks, rows, microbatches, held;
  } sizes[] = {{4, 2, 8, 3},     {5, 2, 6, 4},    {4, 4, 8, 4},
               {8, 2, 16, 5},    {8, 4, 16, 6},   {16, 2, 48, 10},
               {32, 2, 128, 20}, {32, 4, 256, 24}};
  const Costs costs = {"threads", 10000, 11300, 7900, 700, 900, 1800};
  for (const auto &size : sizes) {
    Problem problem =
        rankProblem(costs, size.ranks, size.rows, size.microbatches,
                    Shape::Looped, int64_t(8) * size.held);
    // Ranks of different speed leave a gap to the bound, so that no search
    // ends early.
    for (int32_t s = 0; s < problem.numStages(); ++s)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                              ActionKind::WeightGrad, ActionKind::Backward})
        problem.cost(s, kind).ns +=
            problem.cost(s, kind).ns * (problem.rankOf(s) * 7 % 5) / 29;
    std::vector<int64_t> effort[2], reached[2];
    int64_t bound = 1;
    for (int turn = 0; turn < 6; ++turn) {
      Settings own = settings;
      own.threads = turn % 2 ? settings.threads : 1;
      const Run run = searchOne(problem, own, settings.limitMs);
      effort[turn % 2].push_back(run.result.effort);
      reached[turn % 2].push_back(run.objective);
      bound = std::max(bound, run.result.bound.ns);
    }
    auto median = [](std::vector<int64_t> &of) {
      std::sort(of.begin(), of.end());
      return double(of[of.size() / 2]);
    };
    const double one = median(effort[0]), several = median(effort[1]);
    printf("| %d | %d | %d | %d | %.0f | %.0f | %.2f | %.2f %% | %.2f %% |\n",
           size.ranks, size.rows, size.microbatches,
           3 * problem.numStages() * problem.microbatches, one, several,
           several / std::max(one, 1.0),
           100 * (median(reached[0]) / double(bound) - 1),
           100 * (median(reached[1]) / double(bound) - 1));
    fflush(stdout);
  }
  printf("\n");
}
