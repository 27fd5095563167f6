//===- Recomputed.cpp - Orders of stages that recompute -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Recomputed.h"

#include <algorithm>

using namespace rondo;

bool rondo::hasRecomputation(const Problem &problem) {
  return std::any_of(
      problem.recomputation.begin(), problem.recomputation.end(),
      [](Recomputation how) { return how != Recomputation::None; });
}

Problem rondo::withoutRecomputation(const Problem &problem) {
  Problem plain = problem;
  plain.recomputation.clear();
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    Cost &again = plain.cost(home, ActionKind::Recompute);
    plain.cost(home, ActionKind::Forward).acquireBytes += again.acquireBytes;
    for (ActionKind kind : {ActionKind::InputGrad, ActionKind::Backward}) {
      plain.cost(home, kind).ns += again.ns;
      plain.cost(home, kind).releaseBytes += again.releaseBytes;
    }
    again = Cost();
  }
  return plain;
}

Schedule rondo::withRecomputation(const Problem &problem,
                                  const Schedule &schedule) {
  Schedule result;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    for (Action action : schedule.rank(rank)) {
      const int32_t home = static_cast<int32_t>(action.subject);
      if ((action.traits().makes & inputGradDone) && problem.recomputes(home))
        for (int64_t i = 0; i < int64_t(action.count); ++i)
          result.append(Action(ActionKind::Recompute, home, action.index + i));
      result.append(action);
    }
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  return result;
}
