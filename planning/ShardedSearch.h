//===- ShardedSearch.h - Search with sharded stages -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SHARDEDSEARCH_H
#define RONDO_PLANNING_SHARDEDSEARCH_H

#include "planning/FittingSearch.h"

namespace rondo {

/// The best order whose gathers and programs fit the devices: of the families,
/// which stop at half of the time once one fits, and of searches of the problem
/// with whole state, under caps that leave room for what is gathered. Order and
/// residency are moved in turns: how many chunks of a rank are whole, and how
/// far ahead they are gathered, for the best order (improveResidencies()), then
/// the order again, with the memory that these residencies leave. The bound
/// counts what must be gathered and reduced (ShardedBound.h). A result without
/// a schedule says why.
SearchResult searchSharded(const PlanFigures &plan, const Problem &problem,
                           const SearchOptions &options, const RunSearch &run);

} // namespace rondo

#endif // RONDO_PLANNING_SHARDEDSEARCH_H
