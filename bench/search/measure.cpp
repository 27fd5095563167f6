//===- measure.cpp - One search and its clock -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/measure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace rondo;

bool Settings::takes(const char *part) const {
  if (only.empty())
    return true;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(only).split(parts, ',');
  return llvm::is_contained(parts, part);
}

bool Settings::takes(size_t number, const std::string &name) const {
  return number % every == from % every &&
         name.find(match) != std::string::npos;
}

static double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

Run searchIfFeasible(const Problem &problem, const Settings &settings,
                     int64_t limitMs) {
  SearchOptions options;
  options.timeLimitMs = limitMs;
  options.threads = settings.threads;
  options.without = settings.without;
  if (settings.isProcessorClock)
    options.clock = processorSeconds;
  const double begin = processorSeconds();
  Run run;
  run.result = search(problem, options);
  run.seconds = processorSeconds() - begin;
  if (run.result.schedule)
    run.objective = objectiveOf(problem, run.result.simulation);
  return run;
}

Run searchOne(const Problem &problem, const Settings &settings,
              int64_t limitMs) {
  Run run = searchIfFeasible(problem, settings, limitMs);
  if (!run.result.schedule) {
    fprintf(stderr, "%s: %s\n", problem.name.c_str(),
            describe(*run.result.fault).c_str());
    exit(1);
  }
  return run;
}
