//===- Thinned.h - Fewer micro-batches in flight ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_THINNED_H
#define RONDO_SCHEDULE_SEARCH_THINNED_H

#include "schedule/families/Family.h"
#include "schedule/search/Budget.h"

namespace rondo {

/// Whether an order breaks the caps, and no rank needs more than one and a half
/// times its cap. O(actions).
bool isThinnable(const Problem &problem, const Schedule &schedule);

/// A family's order of more micro-batches, without those that do not fit into
/// the caps beside the ones before them. Where a family needs a little more
/// memory than there is, this keeps its pattern: every now and then a
/// micro-batch is missing. `given` is the family's order of the problem itself.
/// Nothing if the pattern would lose more than a third of its micro-batches.
/// O(actions * micro-batches in flight), a few times.
std::optional<Schedule> thinned(const Problem &problem,
                                const FamilyChoice &choice,
                                const Schedule &given, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_THINNED_H
