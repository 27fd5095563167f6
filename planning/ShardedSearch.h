//===- ShardedSearch.h - Search with sharded stages -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SHARDEDSEARCH_H
#define RONDO_PLANNING_SHARDEDSEARCH_H

#include "planning/FittingSearch.h"

namespace rondo {

/// Searches for the best order whose gathers and programs fit the devices.
/// Tries the families, which stop at half of the time once one fits, then
/// searches the problem with whole state under caps that leave memory for
/// gathered weights. Alternates between residencies and orders: improves the
/// residencies of the best order, that is, how many chunks of a rank are whole
/// and how far ahead they are gathered (improveResidencies()), then searches
/// for an order within the memory that these residencies leave. The bound
/// includes gathers and reductions (ShardedBound.h). A result without a
/// schedule has a fault.
SearchResult searchSharded(const PlanFigures &plan, const Problem &problem,
                           const SearchOptions &options, const RunSearch &run);

} // namespace rondo

#endif // RONDO_PLANNING_SHARDEDSEARCH_H
