//===- Tightening.h - Lower caps where programs do not fit ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search holds activations against caps. What else a program allocates grows
// with the micro-batches that are under way, so lower caps leave room for it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_TIGHTENING_H
#define RONDO_PLANNING_TIGHTENING_H

#include "planning/FittingSearch.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// Why programs of a schedule do not run on the plan's devices.
struct Lack {
  Fault fault;
  /// For each rank, the bytes by which its arena exceeds its device; empty if
  /// memory is not the reason.
  std::vector<int64_t> excessBytes;
};

/// They wait for each other, or an arena is larger than its device: then the
/// fault is of the rank where that is most. Nothing if the programs run.
std::optional<Lack> findLack(const FittingSearch &search,
                             const Schedule &schedule);

/// The fault of one micro-batch at a time, the order that needs the least
/// memory; nothing if that order is not legal, or runs.
std::optional<Fault> lackOfOneByOne(const FittingSearch &search);

/// Gives the tightened problem the costs of the plan's, and lets F of stages
/// that recompute take their inputs, which programs keep until R: activations
/// alone may be too small for caps to limit them. Programs that fit arenas hold
/// both.
void countKeptInputs(const FittingSearch &search);

/// Lowers caps of the tightened problem after a schedule that lacks something:
/// by `times` the excess, but to no less than half of what the schedule holds
/// beyond one micro-batch at a time; without an excess to that half. First lets
/// every F take so much that caps limit the micro-batches under way; the bound
/// of a search is then not one of the plan.
void lowerCaps(const FittingSearch &search, const Schedule &schedule,
               const Lack &lack, int64_t times);

} // namespace rondo

#endif // RONDO_PLANNING_TIGHTENING_H
