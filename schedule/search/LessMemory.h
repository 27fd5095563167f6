//===- LessMemory.h - Equal objectives, less memory -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_LESSMEMORY_H
#define RONDO_SCHEDULE_SEARCH_LESSMEMORY_H

#include "schedule/search/Budget.h"
#include "schedule/search/Timer.h"

namespace rondo {

/// What the tasks of each rank hold at most. O(actions).
std::vector<int64_t> peaksOf(const Problem &problem, const Schedule &schedule);

/// Whether each rank keeps its cap, which does not depend on times.
bool keepsCaps(const Problem &problem, const Schedule &schedule);

/// The most bytes that a rank of these orders holds.
int64_t peakOf(const FlatProblem &flat, const Orders &orders);

/// Bytes held, summed over ranks and time, of orders that `timer` has just run.
double byteTimeOf(const FlatProblem &flat, const Orders &orders,
                  const Timer &timer);

/// Replaces the schedule of a result by one with the same objective and a lower
/// peak on the fullest rank or, for the same peak, fewer bytes over time, if it
/// finds one. Takes no longer than an eighth of the search so far and a little.
void lowerMemory(const Problem &problem, const SearchOptions &options,
                 SearchResult &result, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LESSMEMORY_H
