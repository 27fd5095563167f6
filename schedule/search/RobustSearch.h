//===- RobustSearch.h - Search of robust schedules --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROBUSTSEARCH_H
#define RONDO_SCHEDULE_SEARCH_ROBUSTSEARCH_H

#include "schedule/search/Search.h"

namespace rondo {

/// search() for options with a robustness.
SearchResult searchRobust(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROBUSTSEARCH_H
