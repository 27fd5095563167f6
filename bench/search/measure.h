//===- measure.h - What the parts of the benchmark share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_BENCH_SEARCH_MEASURE_H
#define RONDO_BENCH_SEARCH_MEASURE_H

#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <string>

/// The command line; see main.cpp.
struct Settings {
  std::string oracles = "../shared/oracles";
  bool isGiven = false;
  int64_t limitMs = 1000;
  /// Threads of one search.
  int64_t threads = 1;
  size_t every = 9, from = 0, show = 0;
  /// Named by SearchOptions::without.
  std::string only, match, without;
  bool isProcessorClock = false;

  /// Whether to measure this part.
  bool takes(const char *part) const;
  /// Whether to measure this problem or case of a part.
  bool takes(size_t number, const std::string &name) const;
};

struct Run {
  int64_t objective = 0;
  double seconds = 0;
  rondo::SearchResult result;
};

/// The objective is 0 if the problem has no schedule.
Run searchIfFeasible(const rondo::Problem &problem, const Settings &settings,
                     int64_t limitMs);
/// Ends the program if the search finds nothing.
Run searchOne(const rondo::Problem &problem, const Settings &settings,
              int64_t limitMs);

/// The parts. Each prints its tables to stdout and the worst cases to stderr.
/// `set` begins the names of two files: SET.problems.jsonl, SET.optima.json.
void measureOptima(const Settings &settings, const std::string &set);
void measurePeers(const Settings &settings, rondo::Objective objective);
void measureNeighbours(const Settings &settings);
void measureTight(const Settings &settings);
void measureGrowth(const Settings &settings);
void measureThreads(const Settings &settings);
void measurePresets(const Settings &settings);

#endif // RONDO_BENCH_SEARCH_MEASURE_H
