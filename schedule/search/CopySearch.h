//===- CopySearch.h - Search if stages may copy to their hosts --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_COPYSEARCH_H
#define RONDO_SCHEDULE_SEARCH_COPYSEARCH_H

#include "schedule/search/Search.h"

namespace rondo {

/// search() of a problem whose stages may copy to their hosts: chooses which
/// micro-batches are copied and when. Begins with the search without copies, so
/// the result is never worse than that.
SearchResult searchWithCopies(const Problem &problem,
                              const SearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_COPYSEARCH_H
