//===- Gathers.cpp - S9: sharded state is there when it is read -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace rondo;

namespace {

using Found = std::optional<Fault>;
constexpr Rule rule = Rule::Gathers;

/// Consecutive gradients that one reduce_grad adds.
struct Unit {
  int64_t first = -1, count = 0;
  int32_t rank = 0;
  int64_t position = 0;
};

/// The state of a replica at the current position of its rank's order.
struct ReplicaState {
  int64_t unshards = 0, reshards = 0;
  bool isGathered = false;
  /// Positions of its last gather, last gradient and last step; -1: none.
  int64_t gatheredAt = -1, gradientAt = -1, stepAt = -1;
  Unit pending;
  std::vector<Unit> units;
};

class Walk {
public:
  Walk(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), replicas(problem.numReplicas()) {}

  Found run() {
    for (rank = 0; rank < schedule.numRanks(); ++rank) {
      order = schedule.rank(rank);
      for (position = 0; position < order.size(); ++position)
        if (Found wrong = look(order[position]))
          return wrong;
      for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
        if (problem.rankOf(replica) == rank &&
            problem.replicas[replica].isSharded())
          if (Found wrong = finish(replica))
            return wrong;
    }
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      if (problem.replicas[replica].shard > 0)
        if (Found wrong =
                compareUnits(problem.replicas.groupOf(replica), replica))
          return wrong;
    return std::nullopt;
  }

private:
  template <FaultKind kind, typename... Parts>
  Fault fault(Action action, const Parts &...parts) const {
    return makeFaultAt<kind>(rule, rank, position, action, parts...);
  }
  /// Cites another action of this rank.
  Fault beside(Fault fault, int64_t other) const {
    return std::move(fault).withOther(rank, other, order[other]);
  }

  Fault notReduced(const ReplicaState &state) const {
    return makeFaultAt<FaultKind::NotReduced>(rule, rank, state.gradientAt,
                                              order[state.gradientAt]);
  }

  Found look(Action action) {
    const auto replica = static_cast<int32_t>(action.subject);
    ReplicaState &state = replicas[replica];
    if (!problem.replicas[replica].isSharded())
      return action.traits().movesState()
                 ? Found(fault<FaultKind::NotSharded>(action))
                 : std::nullopt;
    const int64_t number = action.index;
    auto expects = [&](int64_t expected) -> Found {
      if (number == expected)
        return std::nullopt;
      return fault<FaultKind::UnitOutOfOrder>(
          action, Action(action.kind(), replica, expected));
    };
    if (action.traits().movesState() && state.stepAt >= 0)
      return beside(makeFaultAt<FaultKind::StepBeforeReduce>(
                        rule, rank, state.stepAt, order[state.stepAt]),
                    position);
    switch (action.kind()) {
    case ActionKind::Unshard:
      if (state.isGathered)
        return beside(fault<FaultKind::GatheredAlready>(action),
                      state.gatheredAt);
      if (Found wrong = expects(state.unshards))
        return wrong;
      ++state.unshards;
      state.isGathered = true;
      state.gatheredAt = position;
      return std::nullopt;
    case ActionKind::Reshard:
      if (!state.isGathered)
        return fault<FaultKind::FreesNothing>(action);
      if (Found wrong = expects(state.reshards))
        return wrong;
      ++state.reshards;
      state.isGathered = false;
      return std::nullopt;
    case ActionKind::ReduceGrad:
      if (Found wrong = expects(static_cast<int64_t>(state.units.size())))
        return wrong;
      if (state.pending.count == 0)
        return fault<FaultKind::ReducesNothing>(action);
      state.pending.rank = rank;
      state.pending.position = position;
      state.units.push_back(state.pending);
      state.pending = {};
      return std::nullopt;
    case ActionKind::Step:
      state.stepAt = position;
      if (state.pending.count == 0)
        return std::nullopt;
      for (int64_t i = position + 1; i < order.size(); ++i)
        if (order[i].kind() == ActionKind::ReduceGrad &&
            order[i].subject == action.subject)
          return beside(fault<FaultKind::StepBeforeReduce>(action), i);
      return notReduced(state);
    default:
      break;
    }
    if (action.isTask() && !state.isGathered)
      return fault<FaultKind::ReadsUngathered>(action);
    if (action.traits().makes & weightGradDone) {
      Unit &unit = state.pending;
      unit.first = unit.count == 0 ? number : std::min(unit.first, number);
      unit.count += action.count;
      state.gradientAt = position;
    }
    return std::nullopt;
  }

  /// Checks a replica at the end of its rank's order.
  Found finish(int32_t replica) const {
    const ReplicaState &state = replicas[replica];
    if (state.pending.count > 0)
      return notReduced(state);
    if (state.isGathered)
      return makeFaultAt<FaultKind::LeftGathered>(rule, rank, state.gatheredAt,
                                                  order[state.gatheredAt]);
    return std::nullopt;
  }

  Found compareUnits(int32_t first, int32_t other) const {
    const std::vector<Unit> &a = replicas[first].units,
                            &b = replicas[other].units;
    for (size_t u = 0; u < std::min(a.size(), b.size()); ++u) {
      if (a[u].first == b[u].first && a[u].count == b[u].count)
        continue;
      return makeFaultAt<FaultKind::UnitsDiffer>(
                 rule, b[u].rank, b[u].position,
                 Action(ActionKind::ReduceGrad, other, u), b[u].count,
                 b[u].first, a[u].count, a[u].first)
          .withOther(a[u].rank, a[u].position,
                     Action(ActionKind::ReduceGrad, first, u));
    }
    // If the numbers of units differ, compareOrders() reports the fault.
    return std::nullopt;
  }

  const Problem &problem;
  const Schedule &schedule;
  std::vector<ReplicaState> replicas;
  int32_t rank = 0;
  ActionRange order;
  int64_t position = 0;
};

/// A collective that a rank issues together with the other ranks of a group.
struct Issued {
  Action action;
  int64_t position;
};

/// The collectives that a rank issues, by the ranks that share the state.
using IssuedWith = std::map<std::vector<int32_t>, std::vector<Issued>>;

std::vector<int32_t> ranksOfGroup(const Problem &problem, int32_t replica) {
  std::vector<int32_t> ranks;
  const int32_t first = problem.replicas.groupOf(replica);
  for (int32_t shard = 0; shard < problem.replicas[replica].shards; ++shard)
    ranks.push_back(problem.rankOf(first + shard));
  return ranks;
}

IssuedWith issuedBy(const Problem &problem, ActionRange order) {
  IssuedWith result;
  for (int64_t i = 0; i < order.size(); ++i)
    if (order[i].traits().lane == Lane::Collective &&
        order[i].traits().movesState())
      result[ranksOfGroup(problem, static_cast<int32_t>(order[i].subject))]
          .push_back({order[i], i});
  return result;
}

/// The action with the first replica of its group: equal for all replicas of a
/// group.
Action ofGroup(const Problem &problem, Action action) {
  return Action(action.kind(),
                problem.replicas.groupOf(static_cast<int32_t>(action.subject)),
                action.index);
}

/// Compares the collectives that the ranks of each group issue. Every rank of a
/// group issues at least a gather, which its tasks read.
Found compareOrders(const Problem &problem, const Schedule &schedule) {
  std::vector<IssuedWith> byRank;
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    byRank.push_back(issuedBy(problem, schedule.rank(r)));
  // The first rank that issues a collective of a group, by the group's ranks.
  std::map<std::vector<int32_t>, int32_t> first;
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    for (const auto &[ranks, own] : byRank[r]) {
      const int32_t otherRank = first.try_emplace(ranks, r).first->second;
      const std::vector<Issued> &other = byRank[otherRank].at(ranks);
      for (size_t n = 0; n < std::max(own.size(), other.size()); ++n) {
        if (n < own.size() && n < other.size()) {
          if (ofGroup(problem, own[n].action) ==
              ofGroup(problem, other[n].action))
            continue;
          return makeFaultAt<FaultKind::GroupDiffers>(rule, r, own[n].position,
                                                      own[n].action)
              .withOther(otherRank, other[n].position, other[n].action);
        }
        const bool isOwn = n < own.size();
        return makeFaultAt<FaultKind::GroupEnds>(
                   rule, isOwn ? r : otherRank,
                   isOwn ? own[n].position : other[n].position,
                   isOwn ? own[n].action : other[n].action)
            .withOtherRank(isOwn ? otherRank : r);
      }
    }
  return std::nullopt;
}

} // namespace

std::optional<Fault> rondo::checkGathers(const Problem &problem,
                                         const Schedule &schedule) {
  if (!problem.replicas.areSharded() && !movesState(schedule))
    return std::nullopt;
  if (Found wrong = Walk(problem, schedule).run())
    return wrong;
  return compareOrders(problem, schedule);
}
