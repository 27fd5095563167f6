//===- Accumulation.cpp - S7: gradients in the stated order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkAccumulation(const Problem &problem,
                                              const Schedule &schedule) {
  // [micro-batch]: its place in the order of accumulation; empty: its index.
  const bool isGiven = !schedule.accumulation.empty();
  std::vector<int64_t> places(isGiven ? problem.microbatches : 0);
  for (size_t place = 0; place < schedule.accumulation.size(); ++place)
    places[schedule.accumulation[place]] = static_cast<int64_t>(place);
  auto placeOf = [&](Action action) {
    return isGiven ? places[action.index] : int64_t(action.index);
  };
  // [replica]: position of its last W or B.
  std::vector<int64_t> last(problem.numReplicas(), -1);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      if (!(action.traits().makes & weightGradDone))
        continue;
      int64_t &previous = last[action.subject];
      if (previous >= 0 && placeOf(order[previous]) > placeOf(action)) {
        Fault fault =
            isGiven ? makeFaultAt<FaultKind::OutOfGivenOrder>(
                          Rule::Accumulation, r, i, action,
                          int64_t(action.index), int64_t(order[previous].index))
                    : makeFaultAt<FaultKind::OutOfOrder>(Rule::Accumulation, r,
                                                         i, action);
        return std::move(fault).withOther(r, previous, order[previous]);
      }
      previous = i;
    }
  }
  return std::nullopt;
}
