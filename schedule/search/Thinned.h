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

/// Makes an order that keeps the caps from a family's order that needs slightly
/// more memory. Writes the family's order for more micro-batches and removes
/// those that do not fit: going through them in order, each one that exceeds a
/// cap together with the kept ones before it. So the family's pattern is kept,
/// with a few micro-batches missing. `given` is the family's order of the
/// problem itself. Nothing if more than a third of the micro-batches do not
/// fit, if three attempts keep too few, or if the budget is too small.
/// O(actions * micro-batches in flight) for each attempt.
std::optional<Schedule> thinned(const Problem &problem,
                                const FamilyChoice &choice,
                                const Schedule &given, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_THINNED_H
