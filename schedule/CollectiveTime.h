//===- CollectiveTime.h - How long collectives take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_COLLECTIVETIME_H
#define RONDO_SCHEDULE_COLLECTIVETIME_H

#include "schedule/Problem.h"

#include <vector>

namespace rondo {

/// How long adding `bytes` of gradients over R homes takes, in ns, once all are
/// there: each home gets its piece from all others, adds, and hands the sum to
/// all. So (R - 1) / R of the bytes leave each home twice, over the slowest link
/// between two of them (SPP, Luo et al. 2022: 2 (R - 1) / R * bytes / least
/// bandwidth), and the longest latency passes twice.
int64_t sumOverHomesNs(const Problem &problem,
                       const std::vector<int32_t> &homes, int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_COLLECTIVETIME_H
