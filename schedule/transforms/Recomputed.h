//===- Recomputed.h - Orders with recomputation -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds R to orders of families. A family ignores R: it orders the problem of
// withoutRecomputation(), in which stages keep all activations and the backward
// takes the time of R as well. R is then inserted into that order.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TRANSFORMS_RECOMPUTED_H
#define RONDO_SCHEDULE_TRANSFORMS_RECOMPUTED_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

/// Whether any replica recomputes.
bool hasRecomputation(const Problem &problem);

/// [replica]: length of the longest path along R edges to the end of its
/// segment; 0 if no stage reads the output of its R. O(replicas + edges).
std::vector<int32_t> distancesInSegments(const Problem &problem);

/// The problem without recomputation: F acquires all activations, and I and B
/// also take the time of R.
Problem withoutRecomputation(const Problem &problem);

/// The same order with R before the I or B that needs it.
///
/// If later stages of the segment read the output of R, R precedes an earlier
/// backward, so that they do not wait. It leads by the difference between the
/// depths of its stage and of the segment's last stage, at least by the number
/// of stages between them in micro-batches, but never precedes its F.
///
/// If this order deadlocks, as it can with several stages of a segment on one
/// rank, the R of all stages of a segment are placed together before the
/// segment's first backward, or some micro-batches earlier if this is faster
/// and the caps allow it. If R crosses stages, the result has no link orders.
///
/// O(actions), plus some simulations.
Schedule withRecomputation(const Problem &problem, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_RECOMPUTED_H
