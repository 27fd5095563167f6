//===- Tasks.cpp - L5: the program does what the schedule says --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/LastGradients.h"
#include "schedule/rules/Moves.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Tasks;

std::optional<Fault> checkOrder(const Schedule &schedule,
                                const Program &program, bool hasSteps,
                                int32_t rank) {
  ActionRange actions = program.order.rank(rank);
  ActionRange tasks = schedule.rank(rank);
  auto isOrdered = [&](Action action) {
    return action.traits().hasCost() &&
           (hasSteps || action.kind() != ActionKind::Step);
  };
  int64_t next = 0;
  for (int64_t i = 0; i < actions.size(); ++i) {
    if (!isOrdered(actions[i]))
      continue;
    if (next < tasks.size() && actions[i] == tasks[next]) {
      ++next;
      continue;
    }
    return next < tasks.size()
               ? makeFaultAt<FaultKind::NotAsScheduled>(rule, rank, i,
                                                        actions[i])
                     .withOther(rank, next, tasks[next])
               : makeFaultAt<FaultKind::NotScheduled>(rule, rank, i, actions[i])
                     .withOther(rank, next, Action());
  }
  if (next == tasks.size())
    return std::nullopt;
  return makeFaultAt<FaultKind::MissingAtEnd>(rule, rank, actions.size(),
                                              tasks[next])
      .withOther(rank, next, Action());
}

/// L5 for the collectives and steps of one rank: each appears once per
/// iteration, after the actions that it needs.
class StepRules {
public:
  using Found = std::optional<Fault>;

  StepRules(const Problem &problem, const Program &program, int32_t rank)
      : problem(problem), program(program), rank(rank),
        actions(program.order.rank(rank)), lastGradients(problem, actions) {}

  Found check(bool hasSteps) {
    if (Found wrong = findAll())
      return wrong;
    if (Found wrong = checkComplete(hasSteps))
      return wrong;
    for (int64_t i = 0; i < actions.size(); ++i)
      if (actions[i].traits().index == IndexMeaning::Step)
        if (Found wrong = checkNeeds(actions[i], i))
          return wrong;
    return checkUpdates();
  }

private:
  bool isHere(int32_t replica) const { return problem.rankOf(replica) == rank; }
  bool isHere(const Collective &collective) const {
    return std::any_of(collective.replicas.begin(), collective.replicas.end(),
                       [&](int32_t replica) { return isHere(replica); });
  }
  bool holds(const Collective &collective, int32_t replica) const {
    return std::find(collective.replicas.begin(), collective.replicas.end(),
                     replica) != collective.replicas.end();
  }
  /// Position of an action; -1 if it is missing.
  int64_t placeOf(ActionKind kind, size_t number, int64_t step) const {
    auto place = places.find({kind, number, step});
    return place == places.end() ? -1 : place->second;
  }
  /// Cites the conflicting action of this rank; below 0: none.
  Fault beside(Fault fault, int64_t position) const {
    return position < 0
               ? fault
               : std::move(fault).withOther(rank, position, actions[position]);
  }
  /// Replicas on this rank whose gradients an action needs.
  std::vector<int32_t> replicasOf(Action action) const {
    if (action.traits().subject == Subject::Replica)
      return {static_cast<int32_t>(action.subject)};
    std::vector<int32_t> replicas;
    for (int32_t replica : program.collectives[action.subject].replicas)
      if (isHere(replica))
        replicas.push_back(replica);
    return replicas;
  }

  Found findAll() {
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action action = actions[i];
      const ActionTraits &traits = action.traits();
      // checkMoves() checks collectives of sharded state.
      if (traits.index != IndexMeaning::Step ||
          (action.kind() == ActionKind::Await &&
           movesState(program.collectives[action.subject].kind)))
        continue;
      const auto [before, isNew] = places.insert(
          {{action.kind(), action.subject, int64_t(action.index)}, i});
      if (!isNew && !traits.mayRepeat)
        return beside(makeFaultAt<FaultKind::ThereTwice>(rule, rank, i, action),
                      before->second);
    }
    return std::nullopt;
  }

  Found checkComplete(bool hasSteps) const {
    for (int64_t step = 0; step < problem.iterations; ++step)
      if (Found wrong = checkComplete(hasSteps, step))
        return wrong;
    return std::nullopt;
  }

  Found checkComplete(bool hasSteps, int64_t step) const {
    auto need = [&](ActionKind kind, size_t number, int64_t other) -> Found {
      if (placeOf(kind, number, step) >= 0)
        return std::nullopt;
      return beside(makeFaultAt<FaultKind::Missing>(rule, rank, actions.size(),
                                                    Action(kind, number, step)),
                    other);
    };
    constexpr ActionKind issue = ActionKind::AllReduce,
                         await = ActionKind::Await;
    for (size_t c = 0; c < program.collectives.size(); ++c) {
      if (!isHere(program.collectives[c]) ||
          movesState(program.collectives[c].kind))
        continue;
      if (Found wrong = need(issue, c, placeOf(await, c, step)))
        return wrong;
      if (Found wrong = need(await, c, placeOf(issue, c, step)))
        return wrong;
    }
    for (int32_t s = 0; hasSteps && s < problem.numReplicas(); ++s)
      if (isHere(s))
        if (Found wrong = need(ActionKind::Step, s, lastGradients.of(s, step)))
          return wrong;
    return std::nullopt;
  }

  /// Checks that a needed action comes first.
  template <FaultKind kind>
  Found checkBehind(int64_t position, int64_t needed) const {
    if (needed < position)
      return std::nullopt;
    return beside(makeFaultAt<kind>(rule, rank, position, actions[position]),
                  needed);
  }

  Found checkNeeds(Action action, int64_t position) const {
    const int64_t step = action.index;
    if (action.kind() == ActionKind::Await) {
      if (movesState(program.collectives[action.subject].kind))
        return std::nullopt;
      return checkBehind<FaultKind::BeforeItsIssue>(
          position, placeOf(ActionKind::AllReduce, action.subject, step));
    }
    const bool isUpdate = action.kind() == ActionKind::AllReduce &&
                          readsSteps(program.collectives[action.subject].kind);
    const bool isBehindSteps = action.kind() == ActionKind::AllReduce &&
                               program.collectives[action.subject].delay > 0;
    for (int32_t replica : replicasOf(action)) {
      if (isUpdate) {
        if (Found wrong = checkBehind<FaultKind::BeforeResult>(
                position, placeOf(ActionKind::Step, replica, step)))
          return wrong;
        continue;
      }
      if (isBehindSteps) {
        if (Found wrong = checkBehind<FaultKind::BeforePart>(
                position, placeOf(ActionKind::Step, replica, step)))
          return wrong;
        continue;
      }
      if (action.traits().needsOfAll & weightGradDone)
        if (Found wrong = checkBehind<FaultKind::BeforeGradient>(
                position, lastGradients.of(replica, step)))
          return wrong;
      for (size_t c = 0; c < program.collectives.size(); ++c) {
        const Collective &other = program.collectives[c];
        const bool readsSum =
            action.kind() == ActionKind::Step ||
            readsResultOf(program.collectives[action.subject].kind, other.kind);
        if (readsSum && holds(other, replica) && !movesState(other.kind) &&
            !readsSteps(other.kind))
          if (Found wrong = checkBehind<FaultKind::BeforeResult>(
                  position,
                  placeOf(ActionKind::Await, c, other.awaitedBy(step))))
            return wrong;
      }
    }
    return std::nullopt;
  }

  /// Checks that the weights that a step has made are gathered before the next
  /// task or step of its replica.
  Found checkUpdates() const {
    for (size_t c = 0; c < program.collectives.size(); ++c) {
      if (!readsSteps(program.collectives[c].kind) ||
          !isHere(program.collectives[c]))
        continue;
      // [replica]: the iteration of its last step.
      std::map<int32_t, int64_t> stepOf;
      for (int64_t i = 0; i < actions.size(); ++i) {
        const auto replica = static_cast<int32_t>(actions[i].subject);
        if (actions[i].traits().subject != Subject::Replica ||
            !holds(program.collectives[c], replica))
          continue;
        if (const auto step = stepOf.find(replica); step != stepOf.end())
          if (Found wrong = checkBehind<FaultKind::BeforeResult>(
                  i, placeOf(ActionKind::Await, c, step->second)))
            return wrong;
        if (actions[i].kind() == ActionKind::Step)
          stepOf[replica] = actions[i].index;
      }
    }
    return std::nullopt;
  }

  const Problem &problem;
  const Program &program;
  const int32_t rank;
  const ActionRange actions;
  const LastGradients lastGradients;
  /// Positions of collectives, awaits and steps, by kind, number and step.
  std::map<std::tuple<ActionKind, size_t, int64_t>, int64_t> places;
};

} // namespace

std::optional<Fault> rondo::checkTasks(const Problem &problem,
                                       const Schedule &schedule,
                                       const Program &program) {
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  if (schedule.numRanks() != program.order.numRanks())
    return makeRuleFault<FaultKind::ScheduleRankCount>(rule).withFigures(
        program.order.numRanks(), schedule.numRanks());
  if (schedule.copyOrders != program.order.copyOrders)
    return makeRuleFault<FaultKind::CopyOrdersDiffer>(rule);
  const bool areStepsOrdered = schedule.hasSteps();
  // An evaluation gathers weights and has no other collectives.
  const bool hasSteps =
      program.order.hasSteps() ||
      std::any_of(program.collectives.begin(), program.collectives.end(),
                  [](const Collective &collective) {
                    return !movesState(collective.kind);
                  });
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    if (auto fault = checkOrder(schedule, program, areStepsOrdered, r))
      return fault;
    if (auto fault = StepRules(problem, program, r).check(hasSteps))
      return fault;
    if (auto fault = checkMoves(problem, program, r))
      return fault;
  }
  return std::nullopt;
}
