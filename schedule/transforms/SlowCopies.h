//===- SlowCopies.h - Copies that no gap of an order holds ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TRANSFORMS_SLOWCOPIES_H
#define RONDO_SCHEDULE_TRANSFORMS_SLOWCOPIES_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <cstdint>
#include <optional>

namespace rondo {

/// A replica of a rank whose cap the order exceeds and of which nothing can be
/// copied: no micro-batch is idle as long as its SAVE and LOAD take.
struct SlowCopies {
  int32_t replica = 0;
  int64_t copiesNs = 0, idleNs = 0;
};

/// On the first such rank, the replica whose copies lack the least time.
/// Preconditions: those of withCopies() (schedule/transforms/Offload.h).
std::optional<SlowCopies> findSlowCopies(const Problem &problem,
                                         const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_SLOWCOPIES_H
