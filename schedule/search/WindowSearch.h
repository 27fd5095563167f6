//===- WindowSearch.h - Finds orders whose iterations overlap ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If iterations overlap, a bubble of zero is easy to reach. The price is
// memory, for activations and versions of the weights, and delayed gradients.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H
#define RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H

#include "schedule/search/Search.h"
#include "schedule/simulate/SettledTime.h"
#include "schedule/simulate/VersionAnalysis.h"

namespace rondo {

/// One choice of version policies.
struct PolicyChoice {
  /// For example `pipedream`; empty: the policies that the problem states.
  std::string name;
  std::vector<VersionPolicy> versions;
};

struct WindowSearchOptions {
  /// Its `robustness` and `observer` are not used.
  SearchOptions search;
  /// At least one. Of equal results, the first one's is taken.
  std::vector<PolicyChoice> policies;
  /// The largest delay of a task, in updates, in addition to the limits of the
  /// policies.
  int64_t maxDelay = anyDelay;
};

/// Costs of a schedule in a long run.
struct WindowFigures {
  SettledTime time;
  /// [rank]: bytes of activations and of all versions of the weights except the
  /// newest, plus the mean of the changes if a backward extrapolates.
  std::vector<int64_t> heldBytes;
  /// [rank]: the part of `heldBytes` that is not activations.
  std::vector<int64_t> versionBytes;
  /// The largest delay of a task, in updates.
  int64_t delay = 0;
  /// The largest number of copies of a stage's weights.
  int32_t copies = 1;
};

struct WindowSearchResult {
  /// Empty if none was found; `fault` is then the reason.
  std::optional<Schedule> schedule;
  std::optional<Fault> fault;
  /// The problem that was searched, with the policies that the schedule is for.
  Problem problem;
  std::string policy;
  /// Complete, with times, and judged by all rules.
  Simulation simulation;
  WindowFigures figures;
  /// The depths, or the origin of the order that drains in each iteration.
  std::string origin;
  /// Lower bound of an iteration's time: iterationBound().
  int64_t boundNs = 0;
  bool isOptimal = false;
  /// Set if the bound is not reached: the figures of the order that would reach
  /// it without limits, and the rank that lacks the most bytes for it (-1: none
  /// does).
  std::optional<WindowFigures> unlimited;
  int32_t shortRank = -1;
  /// If only orders that drain were tried, the reason.
  std::optional<Fault> onlyDrained;
  /// Number of overlapping orders that were measured; empty if no policy allows
  /// them.
  std::optional<int64_t> numOverlapping;
  SearchStop stop = SearchStop::Exhausted;
  int64_t effort = 0;
  double seconds = 0;
};

/// The time in ns that the busiest rank works for an iteration or, if longer,
/// the busiest link: a lower bound of an iteration of a long run.
int64_t iterationBound(const Problem &window);

/// Finds the shortest iteration of a settled run under the caps and delays; of
/// equals, the one with the least peak of any rank, then the least sum of
/// peaks, then the least delay. Tries orders by depth (search/DepthOrder.h),
/// with fused and split backwards, and orders that drain in each iteration.
/// With few ranks it tries all depths up to those that reach the bound. The
/// window must have passed check() and have several iterations.
WindowSearchResult searchWindow(const Problem &window,
                                const WindowSearchOptions &options);

/// One micro-batch at a time in each iteration, under the policy that lacks the
/// fewest bytes. No known order needs less memory. Returns a schedule even if
/// it exceeds the caps; `fault` then has the excess. Does not set `isOptimal`.
WindowSearchResult leastWindow(const Problem &window,
                               const WindowSearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H
