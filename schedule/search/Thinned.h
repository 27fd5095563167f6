//===- Thinned.h - Fewer micro-batches in flight ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_THINNED_H
#define RONDO_SCHEDULE_SEARCH_THINNED_H

#include "schedule/families/Family.h"
#include "schedule/search/Budget.h"

namespace rondo {

/// Whether an order breaks the caps, but no rank needs more than 1.5 times its
/// cap. O(actions).
bool isThinnable(const Problem &problem, const Schedule &schedule);

/// A family's order of more micro-batches, without each one that does not fit
/// into the caps together with the kept ones before it. If a family needs
/// slightly more memory than the caps, this keeps its pattern, with a few
/// micro-batches missing. `given` is the family's order of the problem itself.
/// Nothing if the pattern would lose more than a third of its micro-batches, or
/// if the budget is too small. O(actions * micro-batches in flight), at most
/// three times.
std::optional<Schedule> thinned(const Problem &problem,
                                const FamilyChoice &choice,
                                const Schedule &given, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_THINNED_H
