//===- Search.h - Finds an order under memory caps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_H
#define RONDO_SCHEDULE_SEARCH_H

#include "schedule/Bounds.h"
#include "schedule/Fault.h"
#include "schedule/Robust.h"
#include "schedule/Schedule.h"
#include "schedule/Simulator.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>

namespace rondo {

/// What a search knows while it runs.
struct SearchProgress {
  /// Of the best schedule so far; int64_t's maximum where there is none yet.
  int64_t objectiveNs = 0;
  Bound bound;
};

struct SearchOptions {
  uint64_t seed = 0;
  /// Wall time in ms from the call on; 0: no limit. Looked at between steps of
  /// about a millisecond; a problem of millions of tasks takes as long as its
  /// first schedule takes.
  int64_t timeLimitMs = 1000;
  /// Work in units of 1,000 tasks that are placed or timed; 0: chosen by the
  /// size of the problem. The same seed and effort give the same schedule
  /// where time does not end first.
  int64_t effort = 0;
  /// Only schedules that keep rule S7 as well.
  bool inIndexOrder = false;
  /// Seconds of the clock that `timeLimitMs` means, from any point on; wall
  /// time where it is null. Measurements on a busy machine give the thread's
  /// own.
  double (*clock)() = nullptr;
  /// Set by a signal handler to end the search with the best so far.
  const std::atomic<bool> *interrupt = nullptr;
  /// Where given, the best schedule by this figure of those that the search
  /// finds. The bound still speaks of the nominal objective.
  std::optional<Robustness> robustness;
  /// Called on the searching thread whenever the best schedule or the bound has
  /// become better; must return quickly. Has no influence on the search.
  std::function<void(const SearchProgress &)> observer;
};

enum class SearchStop : uint8_t {
  /// The effort was used up, or the search had nothing left to try.
  Exhausted,
  Optimal,
  Time,
  Interrupted,
};
/// `exhausted`, ...: what rondo-schedule/1 says.
const char *stopName(SearchStop stop);

struct SearchResult {
  /// Nothing where the problem has no schedule; `fault` then says why.
  std::optional<Schedule> schedule;
  std::optional<Fault> fault;
  /// Complete, and judged by all rules.
  Simulation simulation;
  /// The part of the search that found the schedule: a family's text, "beam",
  /// "kernel", "replay", "polish" or "one-by-one".
  std::string origin;
  Bound bound;
  /// The bound is met, or everything better has been gone through.
  bool provenOptimal = false;
  /// The robust figure of the schedule, where one was asked for, and over how
  /// many samples: fewer than asked for where time ended.
  std::optional<int64_t> robustNs;
  int32_t robustSamples = 0;
  SearchStop stop = SearchStop::Exhausted;
  int64_t effort = 0;
  double seconds = 0;
};

/// Searches the problem's own objective. Never worse than the best family that
/// fits the caps (and keeps S7 where that is asked for), unless time ends
/// before the families have been tried. The problem has passed check().
SearchResult search(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_H
