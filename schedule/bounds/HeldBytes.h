//===- HeldBytes.h - What a rank's cap holds over time ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An activation is held from F's start through the stages after it and back to
// the end of its I or W. The sum over all micro-batches of bytes times this
// time is at most cap times objective: Little's law (J. D. C. Little, 1961) for
// the memory of a rank. At the begin and at the end a rank cannot fill its cap:
// at a time t it holds only activations whose F can have started by t, and
// whose I or W can still end between t and the objective.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_HELDBYTES_H
#define RONDO_SCHEDULE_BOUNDS_HELDBYTES_H

#include "schedule/bounds/CopyAreas.h"
#include "schedule/partial/Propagation.h"

namespace rondo {

/// Lower bound of the objective by the memory of each rank, for `microbatches`
/// micro-batches. The flat problem may have fewer: its heads are those of the
/// first ones, its tails those of the last ones. The propagation must have
/// estimated the empty state. O(n log n) of a rank's tasks.
///
/// `areas`, if not null, is what copies to the hosts can save. Then heads and
/// tails must be those of withLeastBytes().
int64_t heldBytesBound(const FlatProblem &flat, const Propagation &propagation,
                       int64_t microbatches, const CopyAreas *areas = nullptr);

/// [stage]: the longest path from the end of its F to the start of its I.
/// O(stages) for a chain, otherwise O(edges) per stage; 0 if there are too
/// many.
std::vector<int64_t> roundTripsOf(const FlatProblem &flat);

/// The most bytes of a rank's cap that can be held: the cap, rounded down to
/// the unit of which every size is a multiple. 0 if nothing is held, or if a
/// micro-batch never frees some of its bytes. `copying`: the problem whose
/// copies count, or null.
int64_t usableCap(const FlatProblem &flat, int32_t rank,
                  const Problem *copying = nullptr);

/// The least time between two micro-batches in a steady state, by the memory of
/// the ranks. O(stages).
int64_t heldBytesPeriod(const FlatProblem &flat);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_HELDBYTES_H
