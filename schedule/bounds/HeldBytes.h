//===- HeldBytes.h - What a rank's cap holds over time ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An activation is held from F's start through the stages after it and back to
// the end of its I or W. Bytes times this time, over all micro-batches, must
// fit between time and cap: Little's law (J. D. C. Little, 1961) for the memory
// of a rank. At both ends a rank cannot hold its cap: before a time t only that
// whose F was released by then, and after one only that whose I or W may still
// end.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_HELDBYTES_H
#define RONDO_SCHEDULE_BOUNDS_HELDBYTES_H

#include "schedule/partial/Propagation.h"

namespace rondo {

/// No objective of a problem with this many micro-batches is below what the
/// memory of a rank requires. The flat problem may have fewer: its heads are
/// those of the first ones, its tails those of the last ones. The propagation
/// must have estimated the empty state. O(n log n) of a rank's tasks.
int64_t heldBytesBound(const FlatProblem &flat, const Propagation &propagation,
                       int64_t microbatches);

/// The most bytes of a rank's cap that can be held: the cap, rounded down to
/// the unit of which every size is a multiple. 0 if nothing is held, or if a
/// micro-batch never frees some of its bytes.
int64_t usableCap(const FlatProblem &flat, int32_t rank);

/// No steady state has less time between two micro-batches, as far as memory is
/// concerned. O(stages).
int64_t heldBytesPeriod(const FlatProblem &flat);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_HELDBYTES_H
