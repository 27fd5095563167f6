//===- OrderSearch.h - All parts of the order search ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H
#define RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H

#include "schedule/search/Rounds.h"

namespace rondo {

/// What a family or a start wrote, including schedules that break a cap.
struct Seed {
  Schedule schedule;
  int64_t objective = never;
};

/// Up to this many tasks the families are also priorities for orders within the
/// caps.
inline constexpr int64_t replayedTasks = 200000;

/// Searches the orders of one flat problem, until they are optimal, or the
/// budget is spent.
struct OrderSearch {
  const FlatProblem &flat;
  uint64_t seed;
  /// Sorts them.
  std::vector<Seed> &seeds;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
  /// Looks at the incumbent.
  std::function<void()> keep;
  /// What finds the best bound in a part of the time that is left, on any
  /// thread; nothing if there is no time for it.
  std::function<std::function<Bound()>()> boundToSeek;
  /// Takes a bound, and returns the best one.
  std::function<int64_t(const Bound &)> keepBound;
  /// Asked once a beam has gone through all choices.
  std::function<bool()> isProof;

  void run();

private:
  class BoundSeeker;
  void runRounds(BoundSeeker &seeker);
  std::vector<std::unique_ptr<Runner>> islandsOf(const Rounds &rounds);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H
