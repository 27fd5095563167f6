//===- Budget.h - The remaining time and work of a search -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_BUDGET_H
#define RONDO_SCHEDULE_SEARCH_BUDGET_H

#include "schedule/partial/FlatProblem.h"
#include "schedule/search/Search.h"

namespace rondo {

/// The remaining time and work. One thread uses it; parts that run beside each
/// other have budgets of their own.
class Budget {
public:
  explicit Budget(const SearchOptions &options);

  /// Adds tasks that were placed or timed.
  void use(int64_t tasks) { used += tasks; }
  /// True if the search must end, or if the next part, with this many tasks,
  /// would exceed the time limit. Reads the clock rarely.
  bool isSpent(int64_t next = 0);
  /// Whether this many tasks would end within the time limit. A smaller number
  /// may still fit.
  bool hasTimeFor(int64_t tasks) const { return tasks < tasksInTime(); }
  /// How many tasks fit in the remaining time, at the pace of a thread so far;
  /// `never` if there is no time limit.
  int64_t tasksInTime() const;
  void limitEffort(int64_t tasks) { limit = tasks; }
  /// Reserves this many tasks for what follows.
  void keepBack(int64_t tasks) { kept = tasks; }
  /// Reserves one of so many parts of time and effort; 0 gives the reserve out,
  /// also if all else is spent.
  void reserve(int64_t parts) {
    reserved = parts;
    effortKept = parts > 0 ? limit / parts : 0;
    spent = why == SearchStop::Interrupted;
  }
  /// Whether effort ends the search, so that what is found must not depend on
  /// time.
  bool isByEffort() const {
    return options->effort > 0 || options->timeLimitMs <= 0;
  }
  int64_t tasksUsed() const { return used; }
  int64_t tasksLeft() const { return limit - effortKept - used; }
  double seconds() const;
  SearchStop stop() const { return why; }

  /// The budget of a part that may use at most this many tasks, on any thread.
  /// It counts on from what has been used, and shares the time limit.
  Budget part(int64_t tasks) const;
  /// Ends the part once `isCut` holds.
  void cutWhen(std::function<bool()> holds) { isCut = std::move(holds); }
  /// Adds what a part has used; ends if time ended it.
  void join(const Budget &part);
  /// Adds the time that other threads have spent on this budget's tasks beside
  /// the one that uses it: the pace is that of one thread.
  void addSeconds(double others) { secondsBeside += others; }

private:
  const SearchOptions *options;
  double (*clock)();
  double begin, secondsBeside = 0;
  int64_t used = 0, usedBefore = 0, limit = never, nextLook = 0, kept = 0,
          reserved = 0, effortKept = 0;
  bool spent = false;
  SearchStop why = SearchStop::Exhausted;
  std::function<bool()> isCut;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_BUDGET_H
