//===- Budget.h - The remaining time and work of a search -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_BUDGET_H
#define RONDO_SCHEDULE_SEARCH_BUDGET_H

#include "schedule/partial/FlatProblem.h"
#include "schedule/search/Search.h"

namespace rondo {

/// The remaining time and work of a search. Used by one thread; parts that run
/// concurrently have budgets of their own.
class Budget {
public:
  explicit Budget(const SearchOptions &options);

  /// Adds tasks that were placed or timed.
  void use(int64_t tasks) { used += tasks; }
  /// True if the search must end, or if the next part, of `next` tasks, would
  /// exceed the time limit. Reads the clock rarely.
  bool isSpent(int64_t next = 0);
  /// Whether `tasks` tasks would end within the time limit. If not, fewer tasks
  /// may still fit.
  bool hasTimeFor(int64_t tasks) const { return tasks < tasksInTime(); }
  /// Number of tasks that fit in the remaining time, at the average pace of one
  /// thread so far; `never` if there is no time limit.
  int64_t tasksInTime() const;
  void limitEffort(int64_t tasks) { limit = tasks; }
  /// Reserves the time of `tasks` tasks for later work.
  void keepBack(int64_t tasks) { kept = tasks; }
  /// Reserves 1/`parts` of time and effort. 0 releases the reserve, even if the
  /// rest is spent, unless the search was interrupted.
  void reserve(int64_t parts) {
    reserved = parts;
    effortKept = parts > 0 ? limit / parts : 0;
    spent = why == SearchStop::Interrupted;
  }
  /// Whether the effort ends the search; then the result must not depend on
  /// time.
  bool isByEffort() const {
    return options->effort > 0 || options->timeLimitMs <= 0;
  }
  int64_t tasksUsed() const { return used; }
  int64_t tasksLeft() const { return limit - effortKept - used; }
  double seconds() const;
  SearchStop stop() const { return why; }

  /// The budget of a part that may use at most `tasks` tasks, on any thread. It
  /// counts on from tasksUsed(), and shares the time limit.
  Budget part(int64_t tasks) const;
  /// Ends this budget once `holds` returns true; null removes the condition.
  void cutWhen(std::function<bool()> holds) { isCut = std::move(holds); }
  /// Adds the tasks that a part has used. Ends this budget if time or an
  /// interrupt ended the part.
  void join(const Budget &part);
  /// Adds the seconds that other threads spent on this budget's tasks, in
  /// addition to the thread that uses it: tasksInTime() needs the pace of one
  /// thread.
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
