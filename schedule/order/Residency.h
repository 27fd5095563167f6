//===- Residency.h - Ranks with limited launches ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See kinds/Residency.h.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ORDER_RESIDENCY_H
#define RONDO_SCHEDULE_ORDER_RESIDENCY_H

#include "kinds/Residency.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <vector>

namespace rondo {

/// Number of launch queues of a rank: one per rank that it sends to, one per
/// rank that it receives from, and one for all collectives. Each queue has at
/// most one launch in flight.
int32_t countQueues(ActionRange order, const std::vector<Edge> &edges,
                    const std::vector<int32_t> &rankOfReplica);

/// [rank]: the limit of launches in flight: `resident` if the rank has more
/// queues than that, 0 (no limit needed) otherwise. Empty if no rank needs a
/// limit; `resident` = 0 means unlimited. O(actions).
std::vector<int32_t> limitResidency(const Schedule &order,
                                    const std::vector<Edge> &edges,
                                    const std::vector<int32_t> &rankOfReplica,
                                    int32_t resident);

/// The same for the ranks of a problem.
std::vector<int32_t> limitResidency(const Problem &problem,
                                    const Schedule &order, int32_t resident);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_RESIDENCY_H
