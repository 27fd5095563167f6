//===- growth.cpp - Time and memory by size -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/measure.h"
#include "bench/search/ranks.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rondo;

/// Each size runs in a process of its own, to measure its memory.
void measureGrowth(const Settings &settings) {
  printf("| ranks | stages a rank | micro-batches | limit s | seconds | MiB | "
         "over the bound | stopped |\n|---|---|---|---|---|---|---|---|\n");
  const struct {
    int32_t ranks, rows, microbatches;
    int64_t limitMs;
  } sizes[] = {{16, 2, 128, 1000},    {32, 4, 128, 300},
               {64, 2, 512, 1000},    {256, 1, 4096, 10000},
               {256, 2, 4096, 10000}, {1024, 1, 8192, 60000},
               {1024, 2, 4096, 60000}};
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
