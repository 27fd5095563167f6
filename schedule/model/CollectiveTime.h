//===- CollectiveTime.h - How long collectives take -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
#define RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H

#include "schedule/model/Problem.h"

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

/// Some homes, each `step` behind the one before.
struct HomeSteps {
  int32_t first = 0, step = 1, count = 0;
  int32_t operator[](int32_t k) const { return first + k * step; }
};

/// The homes of a sharded stage that have the same piece of its state, one in
/// each group.
HomeSteps samePieceOfGroups(const Problem &problem, int32_t home);

/// Bytes of a home's piece of the gradients.
int64_t pieceOfGradients(const Problem &problem, int32_t home);

/// How long it takes to add that piece over the groups, as sumOverHomesNs(),
/// once each has reduced its own.
int64_t sumAcrossNs(const Problem &problem, int32_t home);

/// How long it takes until each of r homes has the pieces of all, `bytes`
/// together, or the sum of its own: the same way once, (r - 1) / r of the
/// bytes and one latency.
int64_t gatherOverHomesNs(const Problem &problem,
                          const std::vector<int32_t> &homes, int64_t bytes);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_COLLECTIVETIME_H
