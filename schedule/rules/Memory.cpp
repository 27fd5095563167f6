//===- Memory.cpp - S5: the cap holds at every instant ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes that a rank holds change only at its own actions, which do not
// overlap, so the running sum over its order is exact at every instant. Bytes
// that are released at t are free for an action that starts at t. With copies,
// which do overlap, the count along the list holds at every instant, since
// actions wait for what it counts as ended (CopyWaits.h).
//
//===----------------------------------------------------------------------===//

#include "schedule/order/CopyWaits.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkMemory(const Problem &problem,
                                        const Schedule &schedule) {
  if (schedule.hasCopies()) {
    const auto excess = deriveCopyWaits(problem, schedule).excess;
    if (!excess)
      return std::nullopt;
    const auto [r, position, held] = *excess;
    return makeFaultAt<FaultKind::OverCap>(Rule::Memory, r, position,
                                           schedule.rank(r)[position])
        .withFigures(held, problem.memoryCaps[r]);
  }
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    HeldMemory memory(problem);
    for (int64_t i = 0; i < order.size(); ++i) {
      const int64_t held = memory.during(order[i]);
      if (held > problem.memoryCaps[r])
        return makeFaultAt<FaultKind::OverCap>(Rule::Memory, r, i, order[i])
            .withFigures(held, problem.memoryCaps[r]);
    }
  }
  return std::nullopt;
}
