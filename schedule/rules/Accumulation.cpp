//===- Accumulation.cpp - S7: gradients in micro-batch order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkAccumulation(const Problem &problem,
                                              const Schedule &schedule) {
  // [replica]: position of its last W or B.
  std::vector<int64_t> last(problem.numReplicas(), -1);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      if (!(action.traits().makes & weightGradDone))
        continue;
      int64_t &previous = last[action.subject];
      if (previous >= 0 && order[previous].index > action.index)
        return makeFaultAt<FaultKind::OutOfOrder>(Rule::Accumulation, r, i,
                                                  action)
            .withOther(r, previous, order[previous]);
      previous = i;
    }
  }
  return std::nullopt;
}
