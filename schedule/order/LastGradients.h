//===- LastGradients.h - Last gradients of iterations -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_ORDER_LASTGRADIENTS_H
#define RONDO_SCHEDULE_ORDER_LASTGRADIENTS_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// Position of the last W or B of each replica and iteration in a rank's order.
/// Steps and collectives of the iteration must come after it. O(actions +
/// replicas * iterations).
class LastGradients {
public:
  LastGradients(const Problem &problem, ActionRange order)
      : iterations(problem.iterations),
        positions(size_t(problem.numReplicas()) * iterations, -1) {
    const int64_t each = problem.microbatchesEach();
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i].traits().makes & weightGradDone)
        positions[order[i].subject * iterations + order[i].index / each] = i;
  }

  /// -1 if the order has none.
  int64_t of(int64_t replica, int64_t iteration) const {
    return positions[replica * iterations + iteration];
  }

private:
  const int64_t iterations;
  std::vector<int64_t> positions;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_LASTGRADIENTS_H
