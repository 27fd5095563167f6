//===- Shortfall.h - Memory that every schedule needs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_SHORTFALL_H
#define RONDO_SCHEDULE_BOUNDS_SHORTFALL_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// Activations of one micro-batch by rank: what running them one by one holds.
std::vector<int64_t> leastActivationBytes(const Problem &problem);

/// [rank]: bytes of activations that every schedule holds at once. At most
/// leastActivationBytes(), and equal to it if the graph has a single end.
std::vector<int64_t> neededActivationBytes(const Problem &problem);

/// The rank whose cap is the most below what every schedule needs, the first of
/// these, if there is one. With a single end (FlatProblem.h) a rank holds all
/// of a micro-batch after its last F, in any order; running them one by one
/// needs no more. With several ends only a single stage's bytes are considered.
std::optional<Fault> findShortfall(const Problem &problem);

/// Whether it is a fault of findShortfall().
bool isShortfall(const Fault &fault);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_SHORTFALL_H
