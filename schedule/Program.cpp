//===- Program.cpp - A schedule with messages and memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Program.h"

using namespace rondo;

std::string rondo::programActionName(Action action, const Problem &problem) {
  const std::string number = std::to_string(action.subject);
  const ActionTraits &traits = action.traits();
  if (traits.isTask())
    return actionName(action, problem);
  switch (traits.subject) {
  case Subject::Edge: {
    const bool isSend = action.kind() == ActionKind::Send;
    if (action.subject >= problem.edges.size())
      return std::string(traits.keyword) + " of edge " + number;
    const Edge &edge = problem.edges[action.subject];
    return std::string(traits.keyword) + " " +
           actionName(Action(edge.producer, edge.from, action.index), problem) +
           (isSend ? " to rank " : " from rank ") +
           std::to_string(problem.rankOf(isSend ? edge.to : edge.from));
  }
  case Subject::Collective:
    return std::string(traits.keyword) + " " + number;
  case Subject::Home:
    break;
  }
  return std::string(traits.keyword) +
         (problem.iterations > 1 || traits.movesState()
              ? " " + std::to_string(uint64_t(action.index))
              : "") +
         " of stage " +
         (action.subject < static_cast<uint64_t>(problem.numHomes())
              ? std::to_string(problem.homes[action.subject].stage)
              : number);
}
