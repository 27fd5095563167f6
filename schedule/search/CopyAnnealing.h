//===- CopyAnnealing.h - Local search on lists with copies ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_COPYANNEALING_H
#define RONDO_SCHEDULE_SEARCH_COPYANNEALING_H

#include "schedule/search/Budget.h"
#include "schedule/search/CopyLists.h"
#include "schedule/search/Random.h"

namespace rondo {

/// Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) on the lists of
/// all ranks. Moves shift an action within its list, most often along a longest
/// path, or add or remove the copies of a micro-batch.
class CopyAnnealing {
public:
  CopyAnnealing(const CopyGraph &graph, uint64_t seed, Budget &budget);

  /// Makes all lists legal; false, and `lists` unchanged, if it cannot.
  bool legalize(CopyLists &lists, CopyOverflow overflow);
  int64_t timeOf(const CopyLists &lists);

  struct Settings {
    /// The first temperature, as a part of the objective.
    double hot = 0;
    /// The energy is the objective plus this part of the mean end of a rank.
    double weightOfEnds = 0;
  };
  /// Anneals with `tasks` tasks of work, until the objective is at most
  /// `bound`. Leaves the best lists and returns their objective.
  int64_t run(CopyLists &lists, int64_t bound, int64_t tasks,
              const Settings &settings);

  /// Removes copies without which the objective is no worse, in the order of
  /// the lists.
  int64_t dropCopies(CopyLists &lists);

private:
  bool change();
  bool shift(int32_t rank, int32_t from, int32_t to, CopyOverflow overflow);
  int32_t positionOf(CopyTaskId t) const;
  bool shiftOnPath();
  bool shiftAnywhere();
  bool addCopies(int32_t rank);
  bool removeCopies(int32_t rank);
  bool settle(int32_t rank, CopyOverflow overflow);
  bool exchangeForwards();
  /// Copies the lists that the last move has changed.
  void copyChanged(const CopyLists &from, CopyLists &to) const;
  int32_t randomRank();
  CopyOverflow randomOverflow();

  const CopyGraph &graph;
  Random random;
  Budget &budget;
  CopyLegalizer legalizer;
  CopyTimer timer;
  CopyLists current, kept, best;
  std::vector<CopyTaskId> path;
  int32_t changedRank = 0;
  bool isDerived = false;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_COPYANNEALING_H
