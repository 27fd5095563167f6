//===- RankCollectives.h - Where a rank joins collectives -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_RANKCOLLECTIVES_H
#define RONDO_LOWERING_RANKCOLLECTIVES_H

#include "schedule/Program.h"

#include <vector>

namespace rondo {

/// Issues and awaits the collectives of a rank whose schedule has steps. All
/// ranks issue their collectives in the order of the numbers, as far as the
/// steps let them.
class RankCollectives {
public:
  /// `tasks` is the rank's order in the schedule.
  RankCollectives(const Problem &problem, ActionRange tasks, int32_t rank,
                  const std::vector<Collective> &collectives);

  /// In front of a step: awaits what it needs.
  void awaitFor(Action action, Schedule &order);
  /// Behind the task at `position`: issues what has all its gradients.
  void issueBehind(int64_t position, Schedule &order);

private:
  struct Member {
    /// The collective's number.
    size_t number = 0;
    /// Where the last gradient stands that the rank contributes; -1: none.
    int64_t lastGradient = -1;
    bool isIssued = false, isAwaited = false;
  };

  bool holds(const Member &member, int32_t home) const;
  void issue(Member &member, Schedule &order);
  void await(Member &member, Schedule &order);

  const std::vector<Collective> &collectives;
  /// By number.
  std::vector<Member> members;
};

/// Without steps in the schedule: the rank's collectives one after the other,
/// then the steps of its homes.
void appendSteps(const Problem &problem, int32_t rank,
                 const TrainingNeeds &needs, Schedule &order);

} // namespace rondo

#endif // RONDO_LOWERING_RANKCOLLECTIVES_H
