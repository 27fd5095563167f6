//===- Recomputed.h - Orders of stages that recompute -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families and search place F, I, W and B. R goes in front of the backward that
// needs it: there it is run while its rank waits for the gradient, and takes
// memory no earlier than that.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RECOMPUTED_H
#define RONDO_SCHEDULE_RECOMPUTED_H

#include "schedule/Problem.h"
#include "schedule/Schedule.h"

namespace rondo {

/// Whether any home recomputes.
bool hasRecomputation(const Problem &problem);

/// The problem in which I and B take R's time as well, and F what R takes. An
/// order that fits its caps fits those of `problem` with R in front of each I
/// and B, and takes no longer there.
Problem withoutRecomputation(const Problem &problem);

/// `schedule`, which has no R, with R in front of each I and B of a home that
/// recomputes. O(actions).
Schedule withRecomputation(const Problem &problem, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_RECOMPUTED_H
