//===- UnevenAnnealing.h - Local search on lists of tasks -------------*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_UNEVENANNEALING_H
#define RONDO_SCHEDULE_SEARCH_UNEVENANNEALING_H

#include "schedule/search/Budget.h"
#include "schedule/search/Random.h"
#include "schedule/uneven/RankLists.h"

#include <functional>

namespace rondo {

/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) on the lists of
/// all ranks and the order of micro-batches. Moves shift a task within its
/// list, most often in a block of a longest path, or exchange micro-batches.
class Annealing {
public:
  Annealing(const TaskGraph &graph, OrderClass orders, uint64_t seed,
            Budget &budget);

  /// Called with lists that are better than all before, and their objective.
  std::function<void(const RankLists &, int64_t)> onBetter;

  /// The objective if it may exceed what the timer finds, which is then a lower
  /// bound: with NICs. Empty: the timer is exact.
  std::function<int64_t(const RankLists &)> exactNs;

  /// Whether lists have been made legal; `lists` is then that, else unchanged.
  bool legalize(RankLists &lists, Overflow overflow);
  int64_t timeOf(const RankLists &lists) {
    budget.use(static_cast<int64_t>(lists.tasks.size()));
    return timeUpTo(lists, double(infinite));
  }

  /// Anneals from `lists` on, with `tasks` tasks of work, until the objective
  /// is at most `bound`. `hot`: the first temperature, as a part of the
  /// objective. Leaves the best lists and returns their objective.
  int64_t run(RankLists &lists, int64_t bound, int64_t tasks, double hot);

private:
  /// The objective, or more than `limit` if it exceeds that.
  int64_t timeUpTo(const RankLists &lists, double limit);
  bool change();
  bool changeOrder();
  bool shift(int32_t rank, int32_t from, int32_t to);
  bool shiftOnPath();
  bool shiftAnywhere();
  void restore();

  const TaskGraph &graph;
  const OrderClass orders;
  Random random;
  Budget &budget;
  Legalizer legalizer;
  ListTimer timer;
  /// Whether every replica takes every micro-batch, so that tasks of one may
  /// take the places of those of another.
  const bool isWhole;
  RankLists current, kept, best;
  std::vector<int32_t> renamed;
  std::vector<TaskId> path;
  /// The rank whose list restore() puts back; -1: all lists and the order.
  int32_t changedRank = 0;
  double temperature = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_UNEVENANNEALING_H
