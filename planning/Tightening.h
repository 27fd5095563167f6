//===- Tightening.h - Lower caps if programs do not fit ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search limits activations by caps. The rest of what a program allocates
// grows with the micro-batches in flight, so lower caps leave memory for it.
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
  /// [rank]: the bytes by which its arena exceeds its device; empty if memory
  /// is not the reason.
  std::vector<int64_t> excessBytes;
};

/// Finds why the programs of a schedule do not run: they wait for each other,
/// or an arena is larger than its device; then the fault is of the rank with
/// the largest excess. Nothing if the programs run.
std::optional<Lack> findLack(const FittingSearch &search,
                             const Schedule &schedule);

/// The fault of one micro-batch at a time, the order that needs the least
/// memory; nothing if that order is illegal or its programs run.
std::optional<Fault> lackOfOneByOne(const FittingSearch &search);

/// Copies the plan's costs to the tightened problem and adds the inputs of
/// stages that recompute to the memory of F. The plan's problem does not count
/// these inputs as activations, but programs keep them until R. Without them,
/// activations may be so small that caps do not limit the micro-batches in
/// flight.
void countKeptInputs(const FittingSearch &search);

/// Lowers caps of the tightened problem after a schedule whose programs do not
/// run: by `times` the excess, but not below the mean of the bytes that the
/// schedule holds and those that one micro-batch at a time holds. Without an
/// excess, lowers them to that mean. First raises the memory of every F so that
/// caps limit the micro-batches in flight; a bound from a search of the
/// tightened problem then does not hold for the plan.
void lowerCaps(const FittingSearch &search, const Schedule &schedule,
               const Lack &lack, int64_t times);

} // namespace rondo

#endif // RONDO_PLANNING_TIGHTENING_H
