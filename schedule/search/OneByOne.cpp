//===- OneByOne.cpp - The order that needs the least memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/OneByOne.h"

#include <vector>

using namespace rondo;

bool rondo::hasCheaperBackward(const Problem &problem, int32_t stage) {
  for (int32_t i = 0;
       i < (problem.unevenCosts.empty() ? 1 : problem.microbatches); ++i)
    if (problem.cost(stage, ActionKind::Backward, i).ns <
        problem.cost(stage, ActionKind::InputGrad, i).ns +
            problem.cost(stage, ActionKind::WeightGrad, i).ns)
      return true;
  return false;
}

bool rondo::hasCheaperBackward(const Problem &problem) {
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (hasCheaperBackward(problem, replica))
      return true;
  return false;
}

static void appendBackward(const Problem &problem, Schedule &schedule,
                           int32_t s, int32_t i, bool hasAgain) {
  if (problem.recomputes(s) && !hasAgain)
    schedule.append(Action(ActionKind::Recompute, s, i));
  if (hasCheaperBackward(problem, s)) {
    schedule.append(Action(ActionKind::Backward, s, i));
    return;
  }
  schedule.append(Action(ActionKind::InputGrad, s, i));
  schedule.append(Action(ActionKind::WeightGrad, s, i));
}

Schedule rondo::oneByOne(const Problem &problem) {
  // If an R may wait for another R, all R of a micro-batch come before its
  // backwards.
  const bool isAcross = problem.hasRecomputationAcross();
  Schedule schedule;
  schedule.reserve(problem.numTasks());
  for (const std::vector<int32_t> &stages :
       problem.replicas.byRank(problem.numRanks())) {
    for (int32_t i = 0; i < problem.microbatches; ++i) {
      for (int32_t s : stages)
        if (problem.replicas[s].takes(i))
          schedule.append(Action(ActionKind::Forward, s, i));
      for (int32_t s : stages)
        if (isAcross && problem.recomputes(s) && problem.replicas[s].takes(i))
          schedule.append(Action(ActionKind::Recompute, s, i));
      for (auto s = stages.rbegin(); s != stages.rend(); ++s)
        if (problem.replicas[*s].takes(i))
          appendBackward(problem, schedule, *s, i, isAcross);
    }
    schedule.endRank();
  }
  return schedule;
}
