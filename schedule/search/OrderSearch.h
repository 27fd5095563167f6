//===- OrderSearch.h - All parts of the order search ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H
#define RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H

#include "schedule/search/Rounds.h"
#include "schedule/search/WideningBeam.h"

namespace rondo {

/// A schedule of a family or of SearchOptions::starts. It may break a cap.
struct Seed {
  Schedule schedule;
  int64_t objective = never;
};

/// Up to this many tasks, schedules of families are also priorities for orders
/// within the caps.
inline constexpr int64_t replayedTasks = 200000;

/// Callbacks of the search that an order search belongs to.
class OrderSearchOwner {
public:
  virtual ~OrderSearchOwner() = default;
  /// Judges the incumbent.
  virtual void keepIncumbent() = 0;
  /// A function, for any thread, that finds the best bound in a part of the
  /// remaining time; empty if there is no time for it.
  virtual std::function<Bound()> boundToSeek() = 0;
  /// Keeps a bound if it is better, and returns the best one.
  virtual int64_t keepBound(const Bound &bound) = 0;
  /// Whether a beam that has exhausted its tree ends the search.
  virtual bool endsWithBeam() = 0;
};

/// Input of an order search, which the references must outlive.
struct OrderSearchInput {
  const FlatProblem &flat;
  const SearchOptions &options;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
};

/// Searches the orders of one flat problem until the incumbent is optimal or
/// the budget is spent.
class OrderSearch {
public:
  /// Sorts `seeds`.
  OrderSearch(const OrderSearchInput &input, std::vector<Seed> &seeds,
              OrderSearchOwner &owner);
  void run();

private:
  class BoundSeeker;
  /// A row of the table that has turns, with its runner.
  struct RunningPart {
    const SearchPart *part;
    std::unique_ptr<Runner> runner;
  };
  using RunningParts = std::vector<RunningPart>;

  bool isOver() const {
    return best.isOptimal() || budget.isSpent(4 * flat.tasks());
  }
  bool uses(const SearchPart &part) const;
  RunningPart start(const SearchPart &part, uint64_t seed,
                    Orders orders = {}) const;
  void addIslandsOfSeeds(const SearchPart &part, RunningParts &islands) const;
  RunningParts islands() const;
  std::vector<Rounds::Turn> firstTurns(const RunningParts &islands) const;
  void shrink(RunningParts &islands, uint64_t round) const;
  bool endsWithBeam();
  void runRounds(BoundSeeker &seeker);

  const FlatProblem &flat;
  const SearchOptions &options;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
  std::vector<Seed> &seeds;
  OrderSearchOwner &owner;
  Rounds rounds;
  WideningBeam guided;
  /// Parts of phase Round.
  RunningParts steady;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ORDERSEARCH_H
