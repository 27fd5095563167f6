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

/// [rank]: bytes of activations of one micro-batch, as held if micro-batches
/// run one by one.
std::vector<int64_t> leastActivationBytes(const Problem &problem);

/// [rank]: bytes of activations that every schedule holds at once. At most
/// leastActivationBytes(), and equal to it if the graph has a single end.
std::vector<int64_t> neededActivationBytes(const Problem &problem);

/// A fault of the rank whose cap is the furthest below the bytes that every
/// schedule needs; the first of several. With a single end (FlatProblem.h) a
/// rank holds all activations of a micro-batch after its last F, in any order;
/// running micro-batches one by one needs no more. With several ends only a
/// single stage's bytes count.
std::optional<Fault> findShortfall(const Problem &problem);

/// Whether it is a fault of findShortfall().
bool isShortfall(const Fault &fault);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_SHORTFALL_H
