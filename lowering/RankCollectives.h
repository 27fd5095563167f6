//===- RankCollectives.h - Where a rank joins collectives -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_RANKCOLLECTIVES_H
#define RONDO_LOWERING_RANKCOLLECTIVES_H

#include "schedule/program/Program.h"

#include <vector>

namespace rondo {

/// Issues and awaits the collectives of a rank, which run once in every
/// iteration. All ranks issue theirs in the order of the iterations, and in one
/// in that of the numbers, as far as a schedule's own steps let them.
class RankCollectives {
public:
  /// `tasks` is the rank's order in the schedule.
  RankCollectives(const Problem &problem, ActionRange tasks, int32_t rank,
                  const std::vector<Collective> &collectives);

  /// Whether issueBehind() has anything to do.
  bool isDueBehind(int64_t position, CollectiveKind last) const {
    return next < members.size() &&
           (members[next].isIssued ||
            !(members[next].lastGradient > position ||
              readsResultOf(collectives[members[next].number].kind, last)));
  }
  /// In front of a step: awaits what it needs.
  void awaitFor(Action action, Schedule &order);
  /// Behind the task at `position`: issues what has all its gradients, up to
  /// the first of a kind after `last`.
  void issueBehind(int64_t position, CollectiveKind last, Schedule &order);
  /// Behind all tasks: issues and awaits what is left, one after the other.
  void finish(Schedule &order);

private:
  struct Member {
    /// The collective's number, and the iteration.
    size_t number = 0;
    int64_t step = 0;
    /// Where the last gradient stands that the rank contributes, or the last
    /// step that makes its part; -1: none.
    int64_t lastGradient = -1;
    bool isIssued = false, isAwaited = false;
  };

  bool holds(const Member &member, int32_t replica) const;
  bool isBehindSteps(const Member &member) const {
    return collectives[member.number].delay > 0;
  }
  void issue(Member &member, Schedule &order);
  void await(Member &member, Schedule &order);
  /// Those of an iteration.
  Member *begin(int64_t step) { return members.data() + step * numEach; }
  Member *end(int64_t step) { return begin(step + 1); }

  const std::vector<Collective> &collectives;
  /// By iteration, and then by number.
  std::vector<Member> members;
  /// In every iteration.
  size_t numEach = 0;
  /// The first that is not issued.
  size_t next = 0;
};

} // namespace rondo

#endif // RONDO_LOWERING_RANKCOLLECTIVES_H
