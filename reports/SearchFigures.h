//===- SearchFigures.h - What a search has found, in words ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_SEARCHFIGURES_H
#define RONDO_REPORTS_SEARCHFIGURES_H

#include "formats/json/ScheduleWriter.h"
#include "schedule/search/Search.h"
#include "schedule/search/WindowSearch.h"

#include <string>

namespace rondo {

/// `makespan 12 ms, at most 3.10 % above the optimum`.
std::string figuresOf(const Problem &problem, const SearchResult &result);
/// The second half of that.
std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs);

/// `iteration 90 ns, optimal; pipedream, depths 3,2,1, ...`.
std::string figuresOf(const WindowSearchResult &result);
/// The record in a rondo-schedule line; it points into the result.
json::SearchRecord recordOf(const WindowSearchResult &result,
                            const SearchOptions &options);

} // namespace rondo

#endif // RONDO_REPORTS_SEARCHFIGURES_H
