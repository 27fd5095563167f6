//===- Placement.cpp - S2: every task on its replica's rank -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkPlacement(const Problem &problem,
                                           const Schedule &schedule) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      const int32_t owner = problem.rankOf(order[i].subject);
      if (owner != r)
        return makeFaultAt<FaultKind::WrongRank>(Rule::Placement, r, i,
                                                 order[i])
            .withOtherRank(owner);
    }
  }
  return std::nullopt;
}
