//===- Rounds.h - Concurrent parts of the search ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROUNDS_H
#define RONDO_SCHEDULE_SEARCH_ROUNDS_H

#include "schedule/search/SearchParts.h"
#include "schedule/search/Workers.h"

namespace rondo {

/// A part of the search, with an incumbent and a budget of its own.
struct Runner {
  explicit Runner(const Budget &budget) : budget(budget) {}
  Runner(const Runner &) = delete;

  Incumbent best;
  Budget budget;
  std::unique_ptr<Part> part;
  /// Whether it uses no tasks, and runs even if no time is left for them.
  bool isFree = false;
  /// Seconds of its last turn per task of its share; 0 if unknown.
  double secondsPerTask = 0;
};

/// Runs runners in rounds. In a round, each runner sees the results of earlier
/// rounds only. At its end, the best result becomes the incumbent; of equals,
/// the first runner's. So a round finds the same with any number of threads, as
/// long as the effort and not the time ends it. Several threads begin with the
/// runners that will take longest, so that all end at about the same time.
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

  /// A runner and the number of tasks that it gets.
  struct Turn {
    Runner *runner;
    int64_t tasks;
  };
  /// Runs the turns, which sharesOf() shortens if too little effort or time is
  /// left. Once a runner has an optimum, the turns after it do not count,
  /// whether they have run or not.
  void run(const std::vector<Turn> &turns);

  /// Number of tasks for each turn: all that it asks for or, if that exceeds
  /// `left`, less in proportion. If the last turns would get less than `least`,
  /// they get nothing, and those before them share `left`: a part that ends
  /// before its first steps finds nothing.
  static std::vector<int64_t> sharesOf(const std::vector<Turn> &turns,
                                       int64_t left, int64_t least);

private:
  void learn(Runner &runner) const;
  int64_t tasksLeft() const;
  static std::vector<int64_t> longestFirst(const std::vector<Turn> &turns,
                                           const std::vector<int64_t> &shares);

  /// The least share of a turn, in steps per task of the problem.
  static constexpr int64_t shortestTurn = 15;

  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROUNDS_H
