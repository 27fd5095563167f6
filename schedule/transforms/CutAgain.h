//===- CutAgain.h - Other micro-batches of the same samples -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H
#define RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"

namespace rondo {

/// The problem with `each` micro-batches in an iteration, which have the same
/// samples together. Times and bytes of tasks and messages are taken to be in
/// proportion to a micro-batch's size, rounded up; what the host adds to a
/// task, latencies and steps stay. A fault where the samples do not divide, or
/// where replicas have shares of them or recompute.
Result<Problem> cutAgain(const Problem &problem, int64_t each);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H
