//===- TimeUse.cpp - Breakdown of ranks' time -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/timeline/TimeUse.h"

using namespace rondo;

int64_t TimeUse::waitedForAllNs() const {
  int64_t sum = 0;
  for (const auto &[rank, ns] : waitedNs)
    sum += ns;
  return sum;
}

std::vector<TimeUse> rondo::timeUse(const Problem &problem,
                                    const Timeline &timeline) {
  const int32_t ranks = problem.numRanks();
  std::vector<TimeUse> uses(ranks);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    TimeUse &use = uses[rank];
    int64_t clock = 0;
    for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
         ++i) {
      const TimelineTask &task = timeline.tasks[i];
      // Tasks on other lanes take no time of the rank.
      if (task.lane != Lane::Compute)
        continue;
      const int64_t idle = task.startNs - clock;
      // Without a message or copy, it waited for a gather of weights or for
      // another task outside the compute lane.
      if (task.waitedFor == WaitedFor::Copy)
        use.copiesNs += idle;
      else if (task.waitedFor != WaitedFor::Message)
        use.collectivesNs += idle;
      else if (idle > 0)
        use.waitedNs[timeline.tasks[timeline.messages[task.waited].from]
                         .rank] += idle;
      const int64_t ns = task.endNs - task.startNs;
      (task.action.isTask()                     ? use.tasksNs
       : task.action.kind() == ActionKind::Step ? use.stepsNs
                                                : use.collectivesNs) += ns;
      clock = task.endNs;
    }
    use.doneNs = timeline.makespanNs - clock;
  }
  return uses;
}

std::vector<TimeUse> rondo::timeUse(const MeasuredIteration &iteration) {
  const size_t ranks = iteration.ranks.size();
  std::vector<TimeUse> uses(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    uses[rank].messagesNs = iteration.ranks[rank].messagesNs;
    uses[rank].collectivesNs = iteration.ranks[rank].collectivesNs;
    uses[rank].doneNs = iteration.durationNs - iteration.ranks[rank].endNs;
  }
  for (const MeasuredTask &task : iteration.tasks)
    (task.kind == ActionKind::Step ? uses[task.rank].stepsNs
                                   : uses[task.rank].tasksNs) +=
        task.endNs - task.startNs;
  for (const MeasuredWait &wait : iteration.waits)
    (wait.onRank < 0 ? uses[wait.rank].collectivesNs
                     : uses[wait.rank].waitedNs[wait.onRank]) +=
        wait.endNs - wait.startNs;
  for (TimeUse &use : uses)
    use.otherNs = iteration.durationNs - use.doneNs - use.tasksNs -
                  use.stepsNs - use.collectivesNs - use.messagesNs -
                  use.waitedForAllNs();
  return uses;
}
