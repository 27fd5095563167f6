//===- RankCollectives.cpp - Collectives in the order of a rank -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/RankCollectives.h"

#include <algorithm>

using namespace rondo;

static bool isOn(const Problem &problem, int32_t rank,
                 const Collective &collective) {
  return std::any_of(
      collective.replicas.begin(), collective.replicas.end(),
      [&](int32_t replica) { return problem.rankOf(replica) == rank; });
}

RankCollectives::RankCollectives(const Problem &problem, ActionRange tasks,
                                 int32_t rank,
                                 const std::vector<Collective> &collectives)
    : collectives(collectives) {
  for (int64_t t = 0; t < problem.iterations; ++t)
    for (size_t c = 0; c < collectives.size(); ++c)
      if (!movesState(collectives[c].kind) &&
          !readsSteps(collectives[c].kind) &&
          isOn(problem, rank, collectives[c]))
        members.push_back({c, t});
  numEach = members.size() / problem.iterations;
  for (size_t c = 0; c < collectives.size(); ++c)
    if (readsSteps(collectives[c].kind) && isOn(problem, rank, collectives[c]))
      updates.push_back(
          {c, static_cast<int32_t>(std::count_if(
                  collectives[c].replicas.begin(),
                  collectives[c].replicas.end(), [&](int32_t replica) {
                    return problem.rankOf(replica) == rank;
                  }))});
  const int64_t each = problem.microbatchesEach();
  // From the last task on, so that a member, which may hold all replicas, is
  // compared with few tasks.
  size_t numLeft = members.size();
  for (int64_t i = tasks.size(); numLeft > 0 && i-- > 0;) {
    const bool isStep = tasks[i].kind() == ActionKind::Step,
               reduces = tasks[i].kind() == ActionKind::ReduceGrad;
    if (!isStep && !reduces && !(tasks[i].traits().makes & weightGradDone))
      continue;
    // A sharded stage has a single iteration: iterations do not overlap.
    const int64_t t = isStep    ? tasks[i].index
                      : reduces ? 0
                                : tasks[i].index / each;
    for (Member *member = begin(t); member != end(t); ++member)
      if (member->lastGradient < 0 && isStep == isBehindSteps(*member) &&
          holds(*member, tasks[i].subject)) {
        member->lastGradient = i;
        --numLeft;
      }
  }
}

bool RankCollectives::holds(size_t number, int32_t replica) const {
  const std::vector<int32_t> &replicas = collectives[number].replicas;
  return std::find(replicas.begin(), replicas.end(), replica) != replicas.end();
}

void RankCollectives::issue(Member &member, Schedule &order) {
  const Collective &collective = collectives[member.number];
  // The collective reads the sums of these collectives. A collective with a
  // delay needs no await here: the steps before it have awaited them.
  for (Member *other = begin(member.step);
       !isBehindSteps(member) && other != end(member.step); ++other)
    if (const Collective &sum = collectives[other->number];
        readsResultOf(collective.kind, sum.kind) &&
        std::any_of(sum.replicas.begin(), sum.replicas.end(),
                    [&](int32_t replica) { return holds(member, replica); }))
      await(*other, order);
  order.append(Action(ActionKind::AllReduce, member.number, member.step));
  member.isIssued = true;
}

void RankCollectives::await(Member &member, Schedule &order) {
  if (member.isAwaited)
    return;
  if (!member.isIssued)
    issue(member, order);
  order.append(Action(ActionKind::Await, member.number, member.step));
  member.isAwaited = true;
}

void RankCollectives::await(Update &update, Schedule &order) {
  if (update.issued >= 0)
    order.append(Action(ActionKind::Await, update.number, update.issued));
  update.issued = -1;
}

void RankCollectives::issueUpdates(Action step, Schedule &order) {
  for (Update &update : updates) {
    if (!holds(update.number, static_cast<int32_t>(step.subject)) ||
        ++update.stepped < update.replicas)
      continue;
    order.append(
        Action(ActionKind::AllReduce, update.number, int64_t(step.index)));
    update.stepped = 0;
    update.issued = step.index;
  }
}

void RankCollectives::finishUpdates(Schedule &order) {
  for (Update &update : updates)
    await(update, order);
}

void RankCollectives::awaitFor(Action action, Schedule &order) {
  if (action.traits().subject == Subject::Replica)
    for (Update &update : updates)
      if (holds(update.number, static_cast<int32_t>(action.subject)))
        await(update, order);
  if (action.kind() != ActionKind::Step)
    return;
  for (size_t number = 0; number < numEach; ++number) {
    const int64_t t =
        collectives[members[number].number].awaitedBy(action.index);
    if (t < 0)
      continue;
    Member &member = begin(t)[number];
    if (holds(member, action.subject))
      await(member, order);
  }
}

void RankCollectives::issueBehind(int64_t position, CollectiveKind last,
                                  Schedule &order) {
  for (; next < members.size(); ++next) {
    Member &member = members[next];
    if (member.isIssued)
      continue;
    if (member.lastGradient > position ||
        readsResultOf(collectives[member.number].kind, last))
      return;
    issue(member, order);
  }
}

void RankCollectives::finish(Schedule &order) {
  for (Member &member : members)
    await(member, order);
}
