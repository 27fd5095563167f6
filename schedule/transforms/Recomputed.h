//===- Recomputed.h - Orders of stages that recompute -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family does not know of R. It orders the problem in which stages keep what
// they would recompute and their backward takes as long as both, and R is
// written into that order.
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

/// By replica: how many stages the way to the end of its segment has, along
/// edges by R; 0 where nobody reads what R makes. O(replicas + edges).
std::vector<int32_t> distancesInSegments(const Problem &problem);

/// The problem in which nothing is recomputed: F takes everything, and I and B
/// take as long as with R.
Problem withoutRecomputation(const Problem &problem);

/// The same order with R in front of the I or B that needs it. Where others of
/// the segment need what R makes, it stands in front of an earlier backward, so
/// that they need not wait: as many micro-batches earlier as the stage lets in
/// more than the segment's last one, and one for each stage between them at
/// least, but after F. If ranks would then wait for each other, as with several
/// stages of a segment on a rank, R of all its stages comes before the first
/// backward of the segment, or some micro-batches earlier where caps
/// allow it and that is faster. Links then have no orders of their own.
/// O(actions), and some simulations.
Schedule withRecomputation(const Problem &problem, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_RECOMPUTED_H
