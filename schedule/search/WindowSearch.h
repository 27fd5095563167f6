//===- WindowSearch.h - Finds orders whose iterations overlap ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where iterations overlap, a bubble of zero is easy: what it costs is memory,
// for activations and versions of the weights, and gradients that come late.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H
#define RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H

#include "schedule/search/Search.h"
#include "schedule/simulate/SettledTime.h"
#include "schedule/simulate/VersionAnalysis.h"

namespace rondo {

/// Policies that a search may choose from, by stage.
struct PolicyChoice {
  /// Such as `pipedream`; empty: what the problem states.
  std::string name;
  std::vector<VersionPolicy> versions;
};

struct WindowSearchOptions {
  /// Its robustness and observer are not used.
  SearchOptions search;
  /// One at least; of equals the first.
  std::vector<PolicyChoice> policies;
  /// No task may be later, in updates; beside what the policies allow.
  int64_t maxDelay = anyDelay;
};

/// What a schedule costs in a long run.
struct WindowFigures {
  SettledTime time;
  /// By rank: activations and all versions of the weights but the newest, and
  /// where a backward extrapolates, the mean of the changes.
  std::vector<int64_t> heldBytes;
  /// For each rank, the part of `heldBytes` that is not activations.
  std::vector<int64_t> versionBytes;
  /// Of any task, in updates.
  int64_t delay = 0;
  /// Of any stage.
  int32_t copies = 1;
};

struct WindowSearchResult {
  /// Empty if there is none; `fault` then says why.
  std::optional<Schedule> schedule;
  std::optional<Fault> fault;
  /// The one that was searched, with the policies that the schedule is for.
  Problem problem;
  std::string policy;
  /// Complete, with times, and judged by all rules.
  Simulation simulation;
  WindowFigures figures;
  /// Depths, or what drains in each iteration.
  std::string origin;
  /// An iteration takes the busiest rank or link at least so long.
  int64_t boundNs = 0;
  bool isOptimal = false;
  /// What the bound would take where it is not reached: the figures of an order
  /// without limits, and the rank that lacks the most for it (-1: none does).
  std::optional<WindowFigures> unlimited;
  int32_t shortRank = -1;
  /// Why only orders that drain were tried, if so.
  std::optional<Fault> onlyDrained;
  /// How many orders whose iterations overlap were looked at; empty if no
  /// policy lets them.
  std::optional<int64_t> numOverlapping;
  SearchStop stop = SearchStop::Exhausted;
  int64_t effort = 0;
  double seconds = 0;
};

/// What the busiest rank does for an iteration, or the busiest link if that is
/// more: no iteration of a long run takes less.
int64_t iterationBound(const Problem &window);

/// The shortest iteration of a settled run under the caps and delays, of
/// equals the one with the least peak of any rank, then in sum, then the least
/// delay. It looks at orders by depth (search/DepthOrder.h), with W apart from
/// I or not, and at those that drain in each iteration. Where ranks are few it
/// looks at all depths up to those that reach the bound. The window must have
/// passed check() and have several iterations.
WindowSearchResult searchWindow(const Problem &window,
                                const WindowSearchOptions &options);

/// One micro-batch at a time in each iteration, under the policy that lacks
/// least: no order that is known needs less memory. The schedule is there even
/// if it exceeds the caps; `fault` then says by how much. `isOptimal` is not
/// set.
WindowSearchResult leastWindow(const Problem &window,
                               const WindowSearchOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WINDOWSEARCH_H
