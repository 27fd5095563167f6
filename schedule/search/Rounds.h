//===- Rounds.h - Parts of the search beside each other ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROUNDS_H
#define RONDO_SCHEDULE_SEARCH_ROUNDS_H

#include "schedule/search/SearchParts.h"
#include "schedule/search/Workers.h"

namespace rondo {

/// A part of the search, with its own copy of what it may change.
struct Runner {
  explicit Runner(const Budget &budget) : budget(budget) {}
  Runner(const Runner &) = delete;

  Incumbent best;
  Budget budget;
  std::unique_ptr<Part> part;
  /// It uses no tasks, and runs even if no time is left for them.
  bool isFree = false;
  /// Of its last turn, for each task of its share; 0 if that is not known.
  double secondsPerTask = 0;
};

/// Runs runners in rounds. In a round each runner sees what was known before
/// it, not what the others find meanwhile; at its end, the best of all becomes
/// the incumbent, the first runner's of equals. So a round finds the same in
/// any number of threads, as long as the effort and not the time ends it.
/// Several threads begin with the runners that will take longest, so that none
/// is left waiting for the last of them.
class Rounds {
public:
  Rounds(const FlatProblem &flat, Incumbent &best, Budget &budget,
         Workers &workers)
      : flat(flat), best(best), budget(budget), workers(workers) {}

  /// `make` gets the runner's incumbent and budget.
  template <typename Make>
  std::unique_ptr<Runner> runner(const Make &make) const {
    auto made = std::make_unique<Runner>(budget);
    made->part = make(made->best, made->budget);
    return made;
  }

  /// A runner and how many tasks it gets.
  struct Turn {
    Runner *runner;
    int64_t tasks;
  };
  /// Turns become shorter if less effort or time is left: sharesOf(). Once a
  /// runner has an optimum, those behind it do not count, whether they have run
  /// or not.
  void run(const std::vector<Turn> &turns);

  /// How many tasks each turn gets of what is left: all that it asks for, or
  /// less in proportion. Where that would leave the last ones less than
  /// `least`, they get nothing, and those before them share what is left: a
  /// part that ends before its first steps finds nothing.
  static std::vector<int64_t> sharesOf(const std::vector<Turn> &turns,
                                       int64_t left, int64_t least);

private:
  void learn(Runner &runner) const;
  int64_t tasksLeft() const;
  static std::vector<int64_t> longestFirst(const std::vector<Turn> &turns,
                                           const std::vector<int64_t> &shares);

  /// In steps for each task of the problem.
  static constexpr int64_t shortestTurn = 15;

  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROUNDS_H
