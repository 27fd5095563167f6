//===- MemoryCurve.h - The best objective for every cap ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_MEMORYCURVE_H
#define RONDO_SCHEDULE_SEARCH_MEMORYCURVE_H

#include "schedule/search/Search.h"

#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// The problem with less memory. If all ranks have a cap, the largest becomes
/// `capBytes` and the others shrink in proportion, rounded down; otherwise no
/// rank may hold more than `capBytes`, nor more than its own cap.
Problem underCap(const Problem &problem, int64_t capBytes);
/// The least `capBytes` for which every rank with these peaks (bytes) keeps its
/// cap of underCap(). The peaks must fit the problem itself.
int64_t leastCapOf(const Problem &problem, const std::vector<int64_t> &peaks);

struct CurvePoint {
  /// The least cap for the schedule: it fits underCap(capBytes), but not
  /// underCap(capBytes - 1).
  int64_t capBytes = 0;
  /// The bound holds for caps up to this one, which is at least `capBytes`;
  /// noMemoryCap if the bound holds without a cap.
  int64_t boundUpToBytes = 0;
  /// Judged by all rules under underCap(capBytes), with a bound for that cap.
  SearchResult result;
};

struct MemoryCurve {
  /// Caps ascend and objectives descend. Empty if nothing fits.
  std::vector<CurvePoint> points;
  /// Bound under the problem's own caps, which holds for all points.
  Bound boundOfAll;
  /// Under a smaller cap, no order fits.
  int64_t leastBytes = 0;
  /// Why there is no point, or why the curve ends above `leastBytes`.
  std::optional<Fault> fault;
  bool wasInterrupted = false;
};

/// Searches under decreasing caps, each below the need of the last schedule,
/// and further below it if more than `maxPoints` points are possible. Each
/// search begins with the last schedule and bound. The limits of `options` are
/// for all points together; what the descent leaves of them goes to the points
/// with the widest gaps. A schedule counts for all larger caps, a bound for all
/// smaller ones. `run` is search() or a function that accepts fewer problems.
MemoryCurve searchMemoryCurve(
    const Problem &problem, const SearchOptions &options, int64_t maxPoints,
    const std::function<SearchResult(const Problem &, const SearchOptions &)>
        &run);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_MEMORYCURVE_H
