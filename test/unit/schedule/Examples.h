//===- Examples.h - Problems and schedules for tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_EXAMPLES_H
#define RONDO_TEST_UNIT_SCHEDULE_EXAMPLES_H

#include "schedule/bounds/Bounds.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Legality.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <sstream>

namespace rondo::test {

/// Time of F, I and W, the bytes of an activation and how much of it I frees.
struct Unit {
  int64_t forward = 1, inputGrad = 1, weightGrad = 1;
  int64_t activation = 1, inputGradFrees = 0;
};

/// Bound of an argument without a known schedule; 0 if only the search proves
/// one.
inline int64_t provenBy(const BoundArgument &argument, const Problem &problem,
                        int64_t effort) {
  return argument.compute
             ? argument.compute(problem, std::numeric_limits<int64_t>::max(),
                                effort)
             : 0;
}

/// Equal stages on the given ranks, no memory cap, a link without cost.
inline Problem problemOn(const std::vector<int32_t> &rankOfStage, int32_t ranks,
                         int32_t microbatches, Unit unit = {},
                         int64_t outputBytes = 0) {
  Problem problem;
  problem.name = "test";
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t rank : rankOfStage)
    problem.replicas.addStage(rank);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, unit.forward, unit.inputGrad, unit.weightGrad,
                         unit.activation, unit.inputGradFrees);
  problem.makeChain(std::vector<int64_t>(rankOfStage.size(), outputBytes));
  return problem;
}

/// Stage s on rank s.
inline Problem linearProblem(int32_t ranks, int32_t microbatches,
                             Unit unit = {}, int64_t outputBytes = 0) {
  std::vector<int32_t> rankOfStage;
  for (int32_t r = 0; r < ranks; ++r)
    rankOfStage.push_back(r);
  return problemOn(rankOfStage, ranks, microbatches, unit, outputBytes);
}

/// Stage s on rank s mod `ranks`.
inline std::vector<int32_t> loopedRanks(int32_t ranks, int32_t chunks) {
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < ranks * chunks; ++s)
    rankOfStage.push_back(s % ranks);
  return rankOfStage;
}

/// Down the ranks and up again, in turn; with two chunks a V.
inline std::vector<int32_t> waveRanks(int32_t ranks, int32_t chunks) {
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < ranks * chunks; ++s)
    rankOfStage.push_back(s / ranks % 2 == 0 ? s % ranks
                                             : ranks - 1 - s % ranks);
  return rankOfStage;
}

inline Schedule generateFamily(const std::string &text,
                               const Problem &problem) {
  auto choice = parseFamily(text);
  if (!choice) {
    ADD_FAILURE() << describe(choice.fault());
    return {};
  }
  FamilyResult result = generate(*choice, problem);
  if (!result) {
    ADD_FAILURE() << describe(result.fault());
    return {};
  }
  return *std::move(result);
}

/// Parses `2F3`, `2STEP0` or `2B4x3`.
inline Action actionOf(const std::string &text) {
  std::istringstream in(text);
  int64_t stage = 0, index = 0;
  std::string code;
  in >> stage;
  while (std::isupper(in.peek()))
    code += static_cast<char>(in.get());
  in >> index;
  for (const ActionTraits &traits : actionTable.rows)
    if (code == traits.code) {
      Action action(traits.kind, stage, index);
      if (int64_t count = 0; in.peek() == 'x' && in.ignore() >> count)
        action.count = static_cast<uint64_t>(count);
      return action;
    }
  ADD_FAILURE() << text << " is no action";
  return {};
}

inline std::vector<Action> actionsOf(const std::string &text) {
  std::vector<Action> actions;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    actions.push_back(actionOf(word));
  return actions;
}

/// One string of actions per rank.
inline Schedule scheduleOf(const std::vector<std::string> &ranks) {
  Schedule schedule;
  for (const std::string &rank : ranks) {
    for (Action action : actionsOf(rank))
      schedule.append(action);
    schedule.endRank();
  }
  return schedule;
}

inline std::string textOf(ActionRange order) {
  std::string text;
  for (Action action : order)
    text += (text.empty() ? "" : " ") + actionName(action);
  return text;
}

/// The message of the first broken rule; empty if there is none.
inline std::string verdict(const Problem &problem, const Schedule &schedule) {
  auto fault = checkSchedule(problem, schedule);
  return fault ? describe(*fault, problem) : "";
}

/// Whether the orders of all ranks are the same.
inline bool areEqual(const Schedule &a, const Schedule &b) {
  if (a.numActions() != b.numActions() || a.numRanks() != b.numRanks())
    return false;
  for (int32_t r = 0; r < a.numRanks(); ++r)
    if (!std::equal(a.rank(r).begin(), a.rank(r).end(), b.rank(r).begin(),
                    b.rank(r).end()))
      return false;
  return true;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_EXAMPLES_H
