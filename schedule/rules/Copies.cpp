//===- Copies.cpp - S10: copies come in pairs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Copies;

/// The first place of an action. Precondition: the schedule has it.
Fault besideFirst(Fault fault, const Schedule &schedule, Action action) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    if (const int64_t position = findTask(schedule.rank(r), action);
        position >= 0)
      return std::move(fault).withOther(r, position, action);
  return fault;
}

} // namespace

std::optional<Fault> rondo::checkCopies(const Problem &problem,
                                        const Schedule &schedule) {
  if (!schedule.hasCopies())
    return std::nullopt;
  const int64_t microbatches = problem.microbatches;
  const auto bitsOf = [](Action action) { return action.traits().makes; };
  std::vector<Done> seen(size_t(problem.numReplicas()) * microbatches,
                         nothingDone);
  const auto seenOf = [&](Action action) -> Done & {
    return seen[int64_t(action.subject) * microbatches + int64_t(action.index)];
  };
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      const Action action = order[i];
      if (!action.traits().isCopy())
        continue;
      const auto number = static_cast<int32_t>(action.subject);
      const Replica &replica = problem.replicas[number];
      if (!problem.hostMemory.mayCopy(number))
        return makeFaultAt<FaultKind::NotCopied>(rule, r, i, action);
      if (action.count != 1)
        return makeFaultAt<FaultKind::CountOfKind>(rule, r, i, action,
                                                   int64_t(action.count));
      if (!replica.takes(action.index))
        return makeFaultAt<FaultKind::RoundRobinElsewhere>(
            rule, r, i, action,
            problem.replicas.of(replica.stage)
                .first[action.index % replica.turns]
                .rank,
            int64_t(action.index));
      if (seenOf(action) & bitsOf(action))
        return besideFirst(makeFaultAt<FaultKind::Twice>(rule, r, i, action),
                           schedule, action);
      seenOf(action) |= bitsOf(action);
    }
  }
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      const Action action = order[i];
      if (!action.traits().isCopy() || seenOf(action) == copiesDone)
        continue;
      const ActionKind other = action.kind() == ActionKind::Save
                                   ? ActionKind::Load
                                   : ActionKind::Save;
      return makeFaultAt<FaultKind::CopiedAlone>(rule, r, i, action)
          .withOther(r, -1, Action(other, action.subject, action.index));
    }
  }
  return std::nullopt;
}
