//===- ListAnnealing.h - Local search on the lists of ranks -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_LISTANNEALING_H
#define RONDO_SCHEDULE_SEARCH_LISTANNEALING_H

#include "schedule/lists/RankLists.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Random.h"

#include <functional>

namespace rondo {

/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) on the lists of
/// all ranks and the order of micro-batches. A move shifts an action within its
/// list, most often along a longest path, exchanges micro-batches, or adds or
/// removes the copies of one.
class ListAnnealing {
public:
  ListAnnealing(const TaskGraph &graph, OrderClass orders, uint64_t seed,
                Budget &budget);

  /// The objective if it may exceed what the timer finds, which is then a lower
  /// bound: with NICs. Empty: the timer is exact.
  std::function<int64_t(const RankLists &)> exactNs;

  /// Makes all lists legal; false, and `lists` unchanged, if it cannot.
  bool legalize(RankLists &lists, Overflow overflow);
  int64_t timeOf(const RankLists &lists);

  struct Settings {
    /// The first temperature, as a part of the objective.
    double hot = 0;
    /// The energy is the objective plus this part of the mean end of a rank.
    double weightOfEnds = 0;
  };
  /// Anneals with `tasks` tasks of work, until the objective is at most
  /// `bound`. Leaves the best lists and returns their objective.
  int64_t run(RankLists &lists, int64_t bound, int64_t tasks,
              const Settings &settings);

  /// Removes copies without which the objective is no worse, in the order of
  /// the lists.
  int64_t dropCopies(RankLists &lists);

private:
  struct Move {
    /// Changes `current`. False if the lists are then the same or cannot be
    /// made legal.
    bool (ListAnnealing::*make)();
    /// Share of the moves, out of the sum of all.
    int32_t weight = 0;
  };

  bool change();
  bool shift(int32_t rank, int32_t from, int32_t to);
  bool shiftNear(int32_t rank, int32_t from);
  bool shiftOnPath();
  bool shiftAnywhere();
  bool addCopies();
  bool removeCopies();
  bool exchangeForwards();
  bool changeOrder();
  bool settle(int32_t rank, int32_t atBegin, int32_t atEnd);
  bool settleAll();
  void rename(TaskId &t) const;
  void removePair(int32_t rank, TaskId save);
  int32_t positionOf(TaskId t) const;
  /// Copies the lists that the last move has changed.
  void copyChanged(const RankLists &from, RankLists &to) const;
  bool isChanged(int32_t rank) const {
    return changedRank == allRanks || changedRank == rank;
  }
  /// The objective, or `infinite` if it exceeds `limit`.
  int64_t timeUpTo(const RankLists &lists, int64_t limit);
  int32_t randomRank();
  Overflow randomOverflow();

  /// A value of `changedRank`: also the order of micro-batches.
  static constexpr int32_t allRanks = -1;

  const TaskGraph &graph;
  const OrderClass orders;
  Random random;
  Budget &budget;
  Legalizer legalizer;
  ListTimer timer;
  /// Whether any rank has copies to choose.
  const bool hasPairs;
  std::vector<Move> moves;
  int32_t weights = 0;
  RankLists current, kept, best;
  /// [micro-batch]: what takes its place.
  std::vector<int32_t> renamed;
  std::vector<TaskId> path;
  int32_t changedRank = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LISTANNEALING_H
