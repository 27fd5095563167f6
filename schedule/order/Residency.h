//===- Residency.h - Which ranks must limit what is in flight ---*- C++ -*-===//
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

/// How many queues a rank launches into: one for each rank that it sends to,
/// one for each that it receives from, and one for all collectives. A queue has
/// one launch in flight at a time. `rankOfReplica` is of the program's ranks.
int32_t countQueues(ActionRange order, const std::vector<Edge> &edges,
                    const std::vector<int32_t> &rankOfReplica);

/// By rank: `resident`, the launches that may be in flight at once, where its
/// queues would let more be; 0 where they keep to it by themselves. Empty where
/// that is so on all ranks, as with resident = 0, which is no limit.
/// O(actions).
std::vector<int32_t> limitResidency(const Schedule &order,
                                    const std::vector<Edge> &edges,
                                    const std::vector<int32_t> &rankOfReplica,
                                    int32_t resident);

/// The same for the ranks of a problem.
std::vector<int32_t> limitResidency(const Problem &problem,
                                    const Schedule &order, int32_t resident);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_RESIDENCY_H
