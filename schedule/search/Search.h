//===- Search.h - Finds an order under memory caps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_SEARCH_H
#define RONDO_SCHEDULE_SEARCH_SEARCH_H

#include "schedule/bounds/Bounds.h"
#include "schedule/model/Fault.h"
#include "schedule/model/Schedule.h"
#include "schedule/search/Robust.h"
#include "schedule/simulate/Simulator.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// What a search knows while it runs.
struct SearchProgress {
  /// Of the best schedule so far; int64_t's maximum if there is none yet.
  int64_t objectiveNs = 0;
  Bound bound;
};

struct SearchOptions {
  uint64_t seed = 0;
  /// Wall time in ms since the call; 0: no limit. Checked between steps of
  /// about a millisecond; a problem of millions of tasks takes as long as its
  /// first schedule takes.
  int64_t timeLimitMs = 1000;
  /// Work in units of 1,000 tasks placed or timed; 0: chosen by the size of the
  /// problem. The same seed and effort give the same schedule unless time runs
  /// out first.
  int64_t effort = 0;
  /// Threads that work on the problem, this one among them; at least 1. If only
  /// the effort ends the search, they change nothing but the time.
  int64_t threads = 1;
  /// Only schedules that also keep rule S7.
  bool inIndexOrder = false;
  /// The clock of `timeLimitMs`, in seconds since any fixed time; null: wall
  /// time. Measurements on a busy machine use the thread's own, with one
  /// thread.
  double (*clock)() = nullptr;
  /// Set by a signal handler to end the search with the best result so far.
  const std::atomic<bool> *interrupt = nullptr;
  /// If given, the result is the best by this figure of the schedules that the
  /// search finds. The bound still refers to the nominal objective.
  std::optional<Robustness> robustness;
  /// Tried first, as families are: those that break a cap are priorities too.
  std::vector<Schedule> starts;
  /// A bound of this problem that is already proven.
  Bound known = {0, "L1"};
  /// The name of a bound or of a part of the search that is left out: see
  /// boundArguments() and searchParts(). For tests and measurements; empty:
  /// none.
  std::string without;
  /// Called on the searching thread whenever the best schedule or the bound has
  /// improved; must return quickly. Does not influence the search.
  std::function<void(const SearchProgress &)> observer;
};

enum class SearchStop : uint8_t {
  /// The effort was used up, or the search had nothing left to try.
  Exhausted,
  Optimal,
  Time,
  Interrupted,
};
/// `exhausted`, ..., as in rondo-schedule/1.
const char *stopName(SearchStop stop);

struct SearchResult {
  /// Empty if the problem has no schedule; `fault` then says why.
  std::optional<Schedule> schedule;
  std::optional<Fault> fault;
  /// Complete, and judged by all rules.
  Simulation simulation;
  /// The part of the search that found the schedule: a family's text, which
  /// may be "thinned v-half", "beam", "steady-state pattern", "replay",
  /// "neighbourhoods", "one-by-one" or, where only its memory has been improved
  /// on since, "less-memory".
  std::string origin;
  Bound bound;
  /// The bound is reached, or everything better has been searched.
  bool provenOptimal = false;
  /// The schedule's robust figure, if one was asked for, and the number of
  /// samples: fewer than asked for if time ran out.
  std::optional<int64_t> robustNs;
  int32_t robustSamples = 0;
  SearchStop stop = SearchStop::Exhausted;
  int64_t effort = 0;
  double seconds = 0;
};

/// Searches the problem's own objective. Of equal objectives, takes the
/// schedule with the least peak memory on the fullest rank that it finds, then
/// the fewest bytes over time. Never worse than the best family that
/// fits the caps (and keeps S7 if that is asked for), unless time runs out
/// before the families have been tried. The problem must have passed check().
SearchResult search(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_SEARCH_H
