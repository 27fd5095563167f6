//===- RankCollectives.h - Collectives in the order of a rank ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_RANKCOLLECTIVES_H
#define RONDO_LOWERING_RANKCOLLECTIVES_H

#include "schedule/program/Program.h"

#include <vector>

namespace rondo {

/// Issues and awaits the collectives of a rank, each once per iteration. All
/// ranks issue their collectives by iteration, and within an iteration by
/// number, unless steps of the schedule need another order.
class RankCollectives {
public:
  /// `tasks` is the rank's order in the schedule.
  RankCollectives(const Problem &problem, ActionRange tasks, int32_t rank,
                  const std::vector<Collective> &collectives);

  /// Whether issueBehind() would issue a collective or skip an issued one.
  bool isDueBehind(int64_t position, CollectiveKind last) const {
    return next < members.size() &&
           (members[next].isIssued ||
            !(members[next].lastGradient > position ||
              readsResultOf(collectives[members[next].number].kind, last)));
  }
  /// Awaits the collectives that `action` needs: those that a step reads, and
  /// the updates of its replica's weights. Call it before the action is
  /// appended.
  void awaitFor(Action action, Schedule &order);
  /// Issues the gathers of updates for which `step` is the last step on this
  /// rank. Call it after the step is appended.
  void issueUpdates(Action step, Schedule &order);
  /// Issues the collectives whose gradients are complete after the task at
  /// `position`, up to the first one that reads the result of kind `last`.
  void issueBehind(int64_t position, CollectiveKind last, Schedule &order);
  /// Issues and awaits the remaining collectives, one after another, except
  /// the gathers of updates. Call it after the last task.
  void finish(Schedule &order);
  /// Awaits the gathers of updates that are issued. Call it after the last
  /// step.
  void finishUpdates(Schedule &order);

private:
  struct Member {
    /// Number of the collective, and iteration.
    size_t number = 0;
    int64_t step = 0;
    /// Position of the last task of this rank that adds to the gradients, or
    /// with a delay, of the last step whose result it reads; -1: none.
    int64_t lastGradient = -1;
    bool isIssued = false, isAwaited = false;
  };

  /// A gather of the weights that steps of replicas on this rank have made.
  struct Update {
    size_t number = 0;
    /// The rank's replicas of it, and how many have done the step.
    int32_t replicas = 0, stepped = 0;
    /// The iteration that is issued and not awaited; -1: none.
    int64_t issued = -1;
  };

  bool holds(size_t number, int32_t replica) const;
  bool holds(const Member &member, int32_t replica) const {
    return holds(member.number, replica);
  }
  void await(Update &update, Schedule &order);
  bool isBehindSteps(const Member &member) const {
    return collectives[member.number].delay > 0;
  }
  void issue(Member &member, Schedule &order);
  void await(Member &member, Schedule &order);
  /// Members of an iteration.
  Member *begin(int64_t step) { return members.data() + step * numEach; }
  Member *end(int64_t step) { return begin(step + 1); }

  const std::vector<Collective> &collectives;
  /// Sorted by iteration, then by number.
  std::vector<Member> members;
  /// Number of members per iteration.
  size_t numEach = 0;
  /// Index of the first member that is not issued.
  size_t next = 0;
  std::vector<Update> updates;
};

} // namespace rondo

#endif // RONDO_LOWERING_RANKCOLLECTIVES_H
