//===- FittingSearch.h - Schedules whose programs fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search only counts activations. What a program of its schedule allocates,
// including messages, and whether it runs on channels with few slots, is known
// after lowering.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITTINGSEARCH_H
#define RONDO_PLANNING_FITTINGSEARCH_H

#include "lowering/Lowering.h"
#include "schedule/search/Search.h"

#include <functional>
#include <optional>

namespace rondo {

/// Whether the arena of some order of the plan's tasks could be larger than its
/// device. `problem` is the plan's.
bool mayOverflow(const PlanFigures &plan, const Problem &problem);

/// Keeps the better of two searches of `problem`, and the better of their
/// bounds.
void keepBetter(const Problem &problem, std::optional<SearchResult> &kept,
                SearchResult result);

/// Runs one search, such as rondo::search().
using RunSearch =
    std::function<SearchResult(const Problem &, const SearchOptions &)>;

/// Input of a search for orders that fit. The references must outlive it.
struct FittingSearch {
  const PlanFigures &plan;
  /// The plan's problem, and a lower bound of its objective.
  const Problem &problem;
  Bound bound;
  /// The same problem, with lower caps if programs did not fit.
  Problem &tightened;
  RunSearch run;
  /// Whether to stop if time runs out before anything has fitted.
  std::function<bool()> mayGiveUp;
  /// Whether to try families; an earlier call may have done so.
  bool triesFamilies = true;
  /// Whether arenas must fit the devices. False if a plan declares no weights:
  /// then only activations count as memory.
  bool limitsArenas = true;
  /// The same problem with other links, or null. If an arena is too large with
  /// messages that are placed for the problem's links, they may be placed for
  /// these links instead.
  const Problem *alsoPlacedFor = nullptr;
};

/// Returns the best schedule whose programs fit the devices and run to their
/// end on the cluster's channels; without one, the result's fault is the
/// reason. If some program may not fit or run, first tries the families and one
/// micro-batch at a time, for up to a quarter of the time. Then searches under
/// the present caps with a part of the time or effort. If the result fits, the
/// remaining budget goes to a search under the same caps. Otherwise the caps
/// are lowered by the excess, by more in later attempts, and an equal part goes
/// to the next attempt. If messages wait for each other, caps are lowered so
/// that fewer micro-batches are in flight.
SearchResult searchFitting(const FittingSearch &search,
                           const SearchOptions &options);

/// The same for a single plan: a plain search if every program fits and runs.
/// If the plan declares no weights, only activations count as memory, unless
/// `limitsArenas`.
SearchResult searchPlan(const PlanFigures &plan, const Problem &problem,
                        const SearchOptions &options, const RunSearch &run,
                        bool limitsArenas = false);

} // namespace rondo

#endif // RONDO_PLANNING_FITTINGSEARCH_H
