//===- CollectiveTime.h - How long collectives take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_COLLECTIVETIME_H
#define RONDO_SCHEDULE_COLLECTIVETIME_H

#include "schedule/Problem.h"

#include <vector>

namespace rondo {

/// How long adding `bytes` of gradients over r homes takes, in ns, once all are
/// there: each home gets its piece from all others, adds, and hands the sum to
/// all. So (r - 1) / r of the bytes leave each home twice, at the lowest rate
/// between two of them (SPP, Luo et al. 2022: 2 (r - 1) / r * bytes / rate),
/// and the longest latency passes twice. A card with n of the homes, on a
/// server with m of them, carries n * (r - m) / r of the bytes twice in each
/// direction; where that takes longer it counts. Rounded up.
int64_t sumOverHomesNs(const Problem &problem,
                       const std::vector<int32_t> &homes, int64_t bytes);

/// How long it takes until each of r homes has the pieces of all, `bytes`
/// together, or the sum of its own: the same way once, (r - 1) / r of the
/// bytes and one latency.
int64_t gatherOverHomesNs(const Problem &problem,
                          const std::vector<int32_t> &homes, int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_COLLECTIVETIME_H
