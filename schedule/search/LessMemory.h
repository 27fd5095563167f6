//===- LessMemory.h - Equal objectives, less memory -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_LESSMEMORY_H
#define RONDO_SCHEDULE_SEARCH_LESSMEMORY_H

#include "schedule/search/Budget.h"
#include "schedule/search/Timer.h"

namespace rondo {

/// [rank]: the most bytes that its tasks hold. O(actions).
std::vector<int64_t> peaksOf(const Problem &problem, const Schedule &schedule);

/// Whether each rank keeps its cap. Independent of times.
bool keepsCaps(const Problem &problem, const Schedule &schedule);

/// The largest peak of any rank, in bytes.
int64_t peakOf(const FlatProblem &flat, const Orders &orders);

/// Bytes held, summed over ranks and time (bytes * ns). `timer` must have just
/// run `orders`.
double byteTimeOf(const FlatProblem &flat, const Orders &orders,
                  const Timer &timer);

/// Replaces the schedule of `result` if it finds one with no worse objective
/// and a lower peak on the fullest rank or, for the same peak, fewer bytes over
/// time. Uses at most an eighth of the tasks used so far plus min(400 * tasks
/// of the problem, 400,000).
void lowerMemory(const Problem &problem, const SearchOptions &options,
                 SearchResult &result, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LESSMEMORY_H
