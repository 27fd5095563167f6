//===- UnevenSearch.h - Search if micro-batches differ ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_UNEVENSEARCH_H
#define RONDO_SCHEDULE_SEARCH_UNEVENSEARCH_H

#include "schedule/search/Search.h"

namespace rondo {

/// search() of a problem whose micro-batches differ: chooses their order as
/// well, as far as SearchOptions::orders allows. The schedule states the order
/// in which gradients are added.
SearchResult searchUneven(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_UNEVENSEARCH_H
