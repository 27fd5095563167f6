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
/// The least cap under which no rank exceeds its own with these peaks, which
/// must fit the problem itself.
int64_t leastCapOf(const Problem &problem, const std::vector<int64_t> &peaks);

struct CurvePoint {
  /// What the schedule needs: underCap() of this fits it, of one byte less
  /// does not.
  int64_t capBytes = 0;
  /// The bound holds up to this cap, which is at least `capBytes`; noMemoryCap
  /// if it needs no cap.
  int64_t boundUpToBytes = 0;
  /// Judged by all rules under underCap(capBytes), with a bound for that.
  SearchResult result;
};

struct MemoryCurve {
  /// Caps ascend and objectives descend. Empty if nothing fits.
  std::vector<CurvePoint> points;
  /// Under the problem's own caps, and so for all points.
  Bound boundOfAll;
  /// Below this, memory is too small for every order.
  int64_t leastBytes = 0;
  /// Why there is no point, or why the curve ends above `leastBytes`.
  std::optional<Fault> fault;
  bool wasInterrupted = false;
};

/// Searches under lower and lower caps, each below what the last schedule needs
/// and, if there are more than `maxPoints` possible ones, further below it.
/// Each search begins with the last schedule and bound; then the rest of the
/// time or effort, which are those of all points together, goes to the points
/// with the widest gaps. A schedule counts for all larger caps, a bound for
/// all smaller ones. `run` is search() or one that accepts less.
MemoryCurve searchMemoryCurve(
    const Problem &problem, const SearchOptions &options, int64_t maxPoints,
    const std::function<SearchResult(const Problem &, const SearchOptions &)>
        &run);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_MEMORYCURVE_H
