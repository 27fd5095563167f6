//===- Shortfall.h - Memory that every schedule needs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SHORTFALL_H
#define RONDO_SCHEDULE_SHORTFALL_H

#include "schedule/Fault.h"
#include "schedule/Problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Activations of one micro-batch by rank: what running them one by one holds.
std::vector<int64_t> leastActivationBytes(const Problem &problem);

/// The first rank whose cap is below what every schedule needs, if there is
/// one, as a FaultKind::Shortfall. With a single end (FlatProblem.h) a rank
/// holds all of a micro-batch after its last F, in any order; running them one
/// by one needs no more. With several ends only a single stage's bytes are
/// considered.
std::optional<Fault> findShortfall(const Problem &problem);

/// What is missing, with the rank and bytes; the first half of describe(),
/// which also says what it is for and what helps.
std::string briefShortfall(const Fault &shortfall);
/// The text of describe() for it.
std::string describeShortfall(const Fault &shortfall);

} // namespace rondo

#endif // RONDO_SCHEDULE_SHORTFALL_H
