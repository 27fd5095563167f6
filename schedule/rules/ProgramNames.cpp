//===- ProgramNames.cpp - What all rules of programs share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramNames.h"

#include "schedule/BufferNumbers.h"

#include <algorithm>

using namespace rondo;

ProgramViolation rondo::violationAt(ProgramRule rule, int32_t rank,
                                    int64_t position,
                                    const std::string &sentence) {
  ProgramViolation violation;
  violation.rule = rule;
  violation.rank = rank;
  violation.position = position;
  violation.message = sentence + " [" + ruleId(rule) + "]";
  return violation;
}

std::string rondo::programPlace(int32_t rank, int64_t position) {
  return "at position " + std::to_string(position) + " of rank " +
         std::to_string(rank);
}

namespace {

std::string whatIsAbsent(const Problem &problem, const Program &program,
                         int32_t rank, Action action) {
  auto outOf = [](const char *what, int64_t there) {
    return "names no " + std::string(what) + "; there are " +
           std::to_string(there);
  };
  auto misplaced = [&](int32_t stage) -> std::string {
    if (problem.homeOf(stage).rank == rank)
      return "";
    return "belongs on rank " + std::to_string(problem.homeOf(stage).rank) +
           ", where stage " + std::to_string(stage) + " is";
  };
  const int64_t number = action.stage, index = action.index;
  const ActionTraits &traits = action.traits();
  if (!traits.isImplemented)
    return "is no action of a program";
  if (traits.index == IndexMeaning::Step && index >= stepsOfProgram)
    return outOf("step", stepsOfProgram);
  switch (traits.subject) {
  case Subject::Edge: {
    if (number >= static_cast<int64_t>(problem.edges.size()))
      return outOf("edge", problem.edges.size());
    if (index >= problem.microbatches)
      return outOf("micro-batch", problem.microbatches);
    const Edge &edge = problem.edges[number];
    if (problem.homeOf(edge.from).rank == problem.homeOf(edge.to).rank)
      return "goes from a rank to itself; that hand-over needs no message";
    return misplaced(action.kind() == ActionKind::Send ? edge.from : edge.to);
  }
  case Subject::Collective: {
    if (number >= static_cast<int64_t>(program.collectives.size()))
      return outOf("collective", program.collectives.size());
    const std::vector<int32_t> &stages = program.collectives[number].stages;
    auto isHere = [&](int32_t stage) {
      return problem.homeOf(stage).rank == rank;
    };
    if (std::none_of(stages.begin(), stages.end(), isHere))
      return "is on a rank that has no stage of that collective";
    return "";
  }
  case Subject::Stage:
    break;
  }
  if (number >= problem.numStages())
    return outOf("stage", problem.numStages());
  if (traits.isTask() && index >= problem.microbatches)
    return outOf("micro-batch", problem.microbatches);
  return misplaced(number);
}

} // namespace

std::optional<ProgramViolation> rondo::checkNames(const Problem &problem,
                                                  const Program &program,
                                                  ProgramRule rule) {
  const Schedule &order = program.order;
  if (order.numRanks() != problem.numRanks())
    return violationAt(
        rule, -1, -1,
        "the program orders " + std::to_string(order.numRanks()) +
            " ranks, the problem has " + std::to_string(problem.numRanks()));
  size_t placements = BufferNumbers(problem).count();
  if (!program.placements.empty() && program.placements.size() != placements)
    return violationAt(
        rule, -1, -1,
        "the program places " + std::to_string(program.placements.size()) +
            " buffers, its stages have " + std::to_string(placements));
  for (size_t c = 0; c < program.collectives.size(); ++c)
    for (int32_t stage : program.collectives[c].stages)
      if (stage < 0 || stage >= problem.numStages())
        return violationAt(rule, -1, -1,
                           "collective " + std::to_string(c) + " names stage " +
                               std::to_string(stage) +
                               "; the stages are 0 to " +
                               std::to_string(problem.numStages() - 1));
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    ActionRange actions = order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      std::string wrong = whatIsAbsent(problem, program, r, actions[i]);
      if (!wrong.empty())
        return violationAt(rule, r, i,
                           programActionName(actions[i], problem) + " " +
                               programPlace(r, i) + " " + wrong);
    }
  }
  return std::nullopt;
}
