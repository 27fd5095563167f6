//===- SearchState.h - The best schedule and the bound so far ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_SEARCHSTATE_H
#define RONDO_SCHEDULE_SEARCH_SEARCHSTATE_H

#include "schedule/search/Budget.h"
#include "schedule/search/Portfolio.h"
#include "schedule/search/Search.h"
#include "schedule/search/Workers.h"

#include <string>

namespace rondo {

/// The limits, the threads, the best schedule and the bound of a search, which
/// all of its parts share.
class SearchState {
protected:
  SearchState(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), tasks(problem.numTasks()),
        budget(options), workers(options.threads) {}

  /// Computes the first bound and limits the budget; `defaultEffort` in tasks.
  /// False: the problem has no schedule, and `result` says why.
  bool begin(int64_t defaultEffort);
  /// The objective of the best schedule so far; `never` if there is none.
  int64_t objective() const;
  /// Whether the bound is reached, or the budget has no space for `next` tasks.
  bool isDone(int64_t next) {
    return objective() <= result.bound.ns || budget.isSpent(next);
  }
  /// Calls the observer. `found` may be better than the objective of the kept
  /// schedule.
  void report(int64_t found = never) const;
  /// Keeps a higher bound; `found` as for report().
  void keep(const Bound &bound, int64_t found = never);
  /// Number of labels for bounds. A label takes the time of one to six tasks,
  /// and bound LB5 may take some three times as many labels. At least two
  /// thirds of the remaining time are for schedules. Each call of tasksInTime()
  /// reads the clock.
  int64_t labelsForBounds(int64_t tasksInTime) const;
  /// Computes bound LB8, which gains most in little time, if there is any left.
  void seekPricedPaths(int64_t tasksInTime);
  /// Keeps a schedule if it is legal and better, or as good with less memory.
  /// Returns its objective, `never` if it breaks a rule.
  int64_t keep(Judged judged, const std::string &origin);
  /// Judges a schedule and keeps it like keep().
  int64_t judgeAndKeep(Schedule schedule, bool inIndexOrder,
                       const std::string &origin);
  /// Whether SearchOptions::without does not name this part or bound.
  bool uses(std::string_view name) const { return options.without != name; }
  /// Sets what the result says of the end of the search.
  void finish();

  const Problem &problem;
  const SearchOptions &options;
  const int64_t tasks;
  Budget budget;
  Workers workers;
  SearchResult result;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_SEARCHSTATE_H
