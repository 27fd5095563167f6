//===- Search.h - Finds an order under memory caps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_SEARCH_H
#define RONDO_SCHEDULE_SEARCH_SEARCH_H

#include "schedule/bounds/Bounds.h"
#include "schedule/model/Fault.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/model/Schedule.h"
#include "schedule/search/Robust.h"
#include "schedule/simulate/Simulator.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Intermediate result of a search.
struct SearchProgress {
  /// Objective of the best schedule so far; int64_t's maximum if there is none.
  int64_t objectiveNs = 0;
  Bound bound;
};

struct SearchOptions {
  uint64_t seed = 0;
  /// Wall time in ms since the call; 0: no limit. Checked between steps of
  /// about a millisecond. For millions of tasks, the first schedule may take
  /// longer than the limit.
  int64_t timeLimitMs = 1000;
  /// Work in units of 1,000 tasks placed or timed; 0: chosen by the size of the
  /// problem. The same seed and effort give the same schedule unless time runs
  /// out first.
  int64_t effort = 0;
  /// Number of threads, including the calling one; at least 1. If only the
  /// effort ends the search, the number changes only the running time.
  int64_t threads = 1;
  /// Only schedules that also keep rule S7.
  bool inIndexOrder = false;
  /// Orders of micro-batches that the search may choose if these differ.
  OrderClass orders = OrderClass::WPerm;
  /// The clock of `timeLimitMs`, in seconds since any fixed time; null: wall
  /// time. For measurements on a busy machine, use the thread's CPU time, with
  /// one thread.
  double (*clock)() = nullptr;
  /// Set by a signal handler to end the search with the best result so far.
  const std::atomic<bool> *interrupt = nullptr;
  /// If set, the result is the best of the found schedules by this statistic.
  /// The bound still refers to the nominal objective.
  std::optional<Robustness> robustness;
  /// Schedules to try first, like those of families: one that breaks a cap
  /// still serves as priorities.
  std::vector<Schedule> starts;
  /// A proven bound of this problem.
  Bound known = {0, "L1"};
  /// Name of a bound or of a part of the search to leave out: see
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
  /// Empty if none was found; `fault` is then the reason.
  std::optional<Schedule> schedule;
  std::optional<Fault> fault;
  /// Complete, and judged by all rules.
  Simulation simulation;
  /// The part of the search that found the schedule: a family's text, also as
  /// "thinned v-half"; "start"; "one-by-one"; a name of searchParts(); or
  /// "less-memory" if that part has lowered its memory.
  std::string origin;
  Bound bound;
  /// Whether the objective equals the bound, which may come from an exhaustive
  /// search.
  bool provenOptimal = false;
  /// The statistic of `robustness` in ns, if set, and the number of samples
  /// used: fewer than asked for if time ran out.
  std::optional<int64_t> robustNs;
  int32_t robustSamples = 0;
  /// If micro-batches differ: the best objective found with all of them in the
  /// order of their indices.
  std::optional<int64_t> givenNs;
  SearchStop stop = SearchStop::Exhausted;
  int64_t effort = 0;
  double seconds = 0;
};

/// Minimizes the problem's own objective. Of the schedules of equal objective
/// that it finds, takes the one with the least peak memory on the fullest rank,
/// then the fewest bytes over time. Never worse than the best family that fits
/// the caps (and keeps S7 if that is asked for), unless time runs out before
/// the families have been tried. The problem must have passed check(). If
/// stages may copy to their hosts, never worse than the search without copies
/// with three tenths of the limits.
SearchResult search(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_SEARCH_H
