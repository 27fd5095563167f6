//===- Tasks.cpp - L5: the program does what the schedule says --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramNames.h"

#include <algorithm>

using namespace rondo;

namespace {

constexpr ProgramRule rule = ProgramRule::Tasks;

std::optional<ProgramViolation> checkOrder(const Problem &problem,
                                           const Schedule &schedule,
                                           const Program &program,
                                           int32_t rank) {
  ActionRange actions = program.order.rank(rank);
  ActionRange tasks = schedule.rank(rank);
  int64_t next = 0;
  for (int64_t i = 0; i < actions.size(); ++i) {
    if (!actions[i].isTask())
      continue;
    if (next < tasks.size() && actions[i] == tasks[next]) {
      ++next;
      continue;
    }
    ProgramViolation violation =
        violationAt(rule, rank, i,
                    actionName(actions[i]) + " " + programPlace(rank, i) +
                        " stands where the schedule has " +
                        (next < tasks.size() ? actionName(tasks[next])
                                             : std::string("no more tasks")));
    violation.otherRank = rank;
    violation.otherPosition = next;
    return violation;
  }
  if (next == tasks.size())
    return std::nullopt;
  ProgramViolation violation =
      violationAt(rule, rank, actions.size(),
                  programActionName(tasks[next], problem) +
                      " is missing at the end of rank " + std::to_string(rank));
  violation.otherRank = rank;
  violation.otherPosition = next;
  return violation;
}

/// The collectives and steps of one rank: each once, wherever what they need
/// stands before them.
class StepRules {
public:
  using Result = std::optional<ProgramViolation>;

  StepRules(const Problem &problem, const Program &program, int32_t rank)
      : problem(problem), program(program), rank(rank),
        actions(program.order.rank(rank)),
        lastGradient(problem.numStages(), -1) {}

  Result check(bool hasSteps) {
    if (Result wrong = findAll())
      return wrong;
    if (Result wrong = checkComplete(hasSteps))
      return wrong;
    for (const auto &[action, position] : places)
      if (Result wrong = checkNeeds(action, position))
        return wrong;
    return std::nullopt;
  }

private:
  bool isHere(int32_t stage) const {
    return problem.homeOf(stage).rank == rank;
  }
  bool isHere(const Collective &collective) const {
    return std::any_of(collective.stages.begin(), collective.stages.end(),
                       [&](int32_t stage) { return isHere(stage); });
  }
  bool holds(const Collective &collective, int32_t stage) const {
    return std::find(collective.stages.begin(), collective.stages.end(),
                     stage) != collective.stages.end();
  }
  std::string nameAt(int64_t position) const {
    return programActionName(actions[position], problem) + " " +
           programPlace(rank, position);
  }
  /// -1 where it is nowhere.
  int64_t placeOf(ActionKind kind, size_t number) const {
    for (const auto &[action, position] : places)
      if (action.kind() == kind && action.stage == number)
        return position;
    return -1;
  }
  /// Stages of this rank whose gradients an action needs.
  std::vector<int32_t> stagesOf(Action action) const {
    if (action.traits().subject == Subject::Stage)
      return {static_cast<int32_t>(action.stage)};
    std::vector<int32_t> stages;
    for (int32_t stage : program.collectives[action.stage].stages)
      if (isHere(stage))
        stages.push_back(stage);
    return stages;
  }

  Result findAll() {
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action action = actions[i];
      const ActionTraits &traits = action.traits();
      if (traits.makes & weightGradDone)
        lastGradient[action.stage] = i;
      if (traits.index != IndexMeaning::Step)
        continue;
      if (placeOf(action.kind(), action.stage) >= 0 && !traits.mayRepeat)
        return violationAt(rule, rank, i, nameAt(i) + " is there twice");
      places.push_back({action, i});
    }
    return std::nullopt;
  }

  Result checkComplete(bool hasSteps) const {
    auto need = [&](ActionKind kind, size_t number) -> Result {
      if (placeOf(kind, number) >= 0)
        return std::nullopt;
      return violationAt(rule, rank, actions.size(),
                         programActionName(Action(kind, number, 0), problem) +
                             " is missing on rank " + std::to_string(rank));
    };
    for (size_t c = 0; c < program.collectives.size(); ++c)
      if (isHere(program.collectives[c]))
        for (ActionKind kind : {ActionKind::AllReduce, ActionKind::Await})
          if (Result wrong = need(kind, c))
            return wrong;
    for (int32_t s = 0; hasSteps && s < problem.numStages(); ++s)
      if (isHere(s))
        if (Result wrong = need(ActionKind::Step, s))
          return wrong;
    return std::nullopt;
  }

  Result checkNeeds(Action action, int64_t position) const {
    auto before = [&](int64_t needed, const char *why) -> Result {
      if (needed < position)
        return std::nullopt;
      ProgramViolation violation = violationAt(
          rule, rank, position,
          nameAt(position) + " stands before " + nameAt(needed) + ", " + why);
      violation.otherRank = rank;
      violation.otherPosition = needed;
      return violation;
    };
    if (action.kind() == ActionKind::Await)
      return before(placeOf(ActionKind::AllReduce, action.stage),
                    "which it waits for");
    for (int32_t stage : stagesOf(action)) {
      if (action.traits().needsOfAll & weightGradDone)
        if (Result wrong =
                before(lastGradient[stage], "whose gradient it reads"))
          return wrong;
      for (size_t c = 0; c < program.collectives.size(); ++c) {
        const Collective &other = program.collectives[c];
        const bool readsSum =
            action.kind() == ActionKind::Step ||
            (traitsOf(program.collectives[action.stage].kind).readsSums &&
             !traitsOf(other.kind).readsSums);
        if (readsSum && holds(other, stage))
          if (Result wrong = before(placeOf(ActionKind::Await, c),
                                    "whose result it reads"))
            return wrong;
      }
    }
    return std::nullopt;
  }

  const Problem &problem;
  const Program &program;
  const int32_t rank;
  const ActionRange actions;
  /// By stage: the position of its last W or B, -1 where it has none.
  std::vector<int64_t> lastGradient;
  /// Collectives, awaits and steps with their positions, in order.
  std::vector<std::pair<Action, int64_t>> places;
};

bool hasAnyStep(const Program &program) {
  for (int32_t r = 0; r < program.order.numRanks(); ++r)
    for (Action action : program.order.rank(r))
      if (action.kind() == ActionKind::Step)
        return true;
  return false;
}

} // namespace

std::optional<ProgramViolation> rondo::checkTasks(const Problem &problem,
                                                  const Schedule &schedule,
                                                  const Program &program) {
  if (auto violation = checkNames(problem, program, rule))
    return violation;
  if (schedule.numRanks() != program.order.numRanks())
    return violationAt(
        rule, -1, -1,
        "the program orders " + std::to_string(program.order.numRanks()) +
            " ranks, the schedule " + std::to_string(schedule.numRanks()));
  bool hasSteps = !program.collectives.empty() || hasAnyStep(program);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    if (auto violation = checkOrder(problem, schedule, program, r))
      return violation;
    if (auto violation = StepRules(problem, program, r).check(hasSteps))
      return violation;
  }
  return std::nullopt;
}
