//===- WaitCycle.cpp - L2: the program runs to its end ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramNames.h"

#include <algorithm>

using namespace rondo;

namespace {

/// `send 0F1`: what a rank would have to do.
std::string toDo(Action action, const Problem &problem) {
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const Edge &edge = problem.edges[action.stage];
    return (action.kind() == ActionKind::Send ? "send " : "post the recv of ") +
           actionName(Action(edge.producer, edge.from, action.index));
  }
  case ActionKind::AllReduce:
    return "issue " + programActionName(action, problem);
  case ActionKind::Await:
    return programActionName(action, problem);
  default:
    return "run " + programActionName(action, problem);
  }
}

std::string describeWait(const Wait &wait, const Problem &problem) {
  std::string rank = "rank " + std::to_string(wait.rank);
  std::string at = ", at " + programActionName(wait.at, problem);
  if (wait.onRank == wait.rank)
    return rank + " waits for itself to " + toDo(wait.needs, problem) + at +
           ", which stands before it";
  return rank + " waits for rank " + std::to_string(wait.onRank) + " to " +
         toDo(wait.needs, problem) + at;
}

} // namespace

std::optional<ProgramViolation> rondo::checkWaitCycle(const Problem &problem,
                                                      const Program &program) {
  constexpr ProgramRule rule = ProgramRule::WaitCycle;
  if (auto violation = checkNames(problem, program, rule))
    return violation;
  // What can run where collectives start late can run where they start early.
  ProgramSimulation simulation =
      simulateProgram(problem, program, CollectiveStart::WhenAwaited);
  if (simulation.complete)
    return std::nullopt;
  if (simulation.cycle.empty())
    return violationAt(rule, -1, -1,
                       "a send or receive has no other end, so that it never "
                       "finishes");
  std::string said;
  for (const Wait &wait : simulation.cycle)
    said += (said.empty() ? "" : " -> ") + describeWait(wait, problem);
  const Wait &first = simulation.cycle.front();
  ActionRange actions = program.order.rank(first.rank);
  ProgramViolation violation = violationAt(
      rule, first.rank,
      std::find(actions.begin(), actions.end(), first.at) - actions.begin(),
      said);
  violation.otherRank = first.onRank;
  ActionRange others = program.order.rank(first.onRank);
  const Action *other = std::find(others.begin(), others.end(), first.needs);
  if (other != others.end())
    violation.otherPosition = other - others.begin();
  return violation;
}
