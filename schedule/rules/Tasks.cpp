//===- Tasks.cpp - L5: the program does what the schedule says --*- C++ -*-===//

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

/// The collectives and steps that a rank has to end with.
std::vector<Action> endingOf(const Problem &problem, const Program &program,
                             int32_t rank, bool hasSteps) {
  std::vector<Action> ending;
  auto isHere = [&](int32_t stage) {
    return problem.homeOf(stage).rank == rank;
  };
  for (size_t c = 0; c < program.collectives.size(); ++c) {
    const std::vector<int32_t> &stages = program.collectives[c].stages;
    if (std::any_of(stages.begin(), stages.end(), isHere))
      ending.push_back(Action(ActionKind::AllReduce, c, 0));
  }
  for (int32_t s = 0; hasSteps && s < problem.numStages(); ++s)
    if (isHere(s))
      ending.push_back(Action(ActionKind::Step, s, 0));
  return ending;
}

std::optional<ProgramViolation> checkEnding(const Problem &problem,
                                            const Program &program,
                                            int32_t rank,
                                            const std::vector<Action> &ending) {
  ActionRange actions = program.order.rank(rank);
  std::vector<bool> isThere(ending.size());
  bool hasStep = false;
  int64_t first = -1;
  for (int64_t i = 0; i < actions.size(); ++i) {
    Action action = actions[i];
    auto name = [&] {
      return programActionName(action, problem) + " " + programPlace(rank, i);
    };
    bool isStep = action.kind() == ActionKind::Step;
    if (action.isTask() && first >= 0)
      return violationAt(rule, rank, i,
                         name() + " stands behind " +
                             programActionName(actions[first], problem) +
                             " at position " + std::to_string(first) +
                             "; collectives and steps follow the last task");
    if (!isStep && action.kind() != ActionKind::AllReduce)
      continue;
    if (first < 0)
      first = i;
    if (!isStep && hasStep)
      return violationAt(rule, rank, i,
                         name() + " stands behind a step; steps come last");
    hasStep |= isStep;
    size_t which =
        std::find(ending.begin(), ending.end(), action) - ending.begin();
    if (which == ending.size() || isThere[which])
      return violationAt(rule, rank, i,
                         name() + (which == ending.size()
                                       ? " does not belong there"
                                       : " is there twice"));
    isThere[which] = true;
  }
  for (size_t i = 0; i < ending.size(); ++i)
    if (!isThere[i])
      return violationAt(rule, rank, actions.size(),
                         programActionName(ending[i], problem) +
                             " is missing at the end of rank " +
                             std::to_string(rank));
  return std::nullopt;
}

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
    if (auto violation = checkEnding(problem, program, r,
                                     endingOf(problem, program, r, hasSteps)))
      return violation;
  }
  return std::nullopt;
}
