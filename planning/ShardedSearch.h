//===- ShardedSearch.h - Search of plans whose stages are sharded -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SHARDEDSEARCH_H
#define RONDO_PLANNING_SHARDEDSEARCH_H

#include "planning/FittingSearch.h"

namespace rondo {

/// The best order whose gathers and programs fit the devices: of the families,
/// and of a search of the problem with whole state, under caps that leave room
/// for what is gathered. Where gathers are placed is chosen afterwards
/// (PlaceGathers.h). The bound is that of whole state under the problem's own
/// caps, which no sharded order beats. A result without a schedule says why.
SearchResult searchSharded(const PlanFigures &plan, const Problem &problem,
                           const SearchOptions &options, const RunSearch &run);

} // namespace rondo

#endif // RONDO_PLANNING_SHARDEDSEARCH_H
