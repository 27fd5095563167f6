//===- CutAgain.h - Another number of micro-batches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H
#define RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"

namespace rondo {

/// The problem with `each` micro-batches per iteration, with the same total
/// number of samples. Times and bytes of tasks and messages are assumed to be
/// proportional to a micro-batch's size and are rounded up. Host times,
/// latencies and steps are unchanged. A fault if the samples are not divisible
/// by `each`, or if stages have several replicas or recompute.
Result<Problem> cutAgain(const Problem &problem, int64_t each);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_CUTAGAIN_H
