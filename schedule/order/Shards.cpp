//===- Shards.cpp - Stages with sharded state -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/Shards.h"

#include <algorithm>

using namespace rondo;

bool rondo::movesState(const Schedule &schedule) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const ActionRange order = schedule.rank(r);
    if (std::any_of(order.begin(), order.end(),
                    [](Action action) { return action.traits().movesState(); }))
      return true;
  }
  return false;
}

Schedule rondo::withoutMoves(const Schedule &schedule) {
  Schedule result;
  result.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      if (!action.traits().movesState())
        result.append(action);
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  return result;
}
