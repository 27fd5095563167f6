//===- FittingSearch.h - Schedules whose programs fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search knows only activations. What a program of its schedule allocates,
// including messages, is known once it has been lowered.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITTINGSEARCH_H
#define RONDO_PLANNING_FITTINGSEARCH_H

#include "lowering/Lowering.h"
#include "schedule/Search.h"

#include <functional>
#include <optional>

namespace rondo {

/// Whether the arena of some order of the plan's tasks could be larger than a
/// device. `problem` is the plan's.
bool mayOverflow(const PlanFigures &plan, const Problem &problem);

/// Keeps the better of two searches of `problem`, and the better of their
/// bounds.
void keepBetter(const Problem &problem, std::optional<SearchResult> &kept,
                SearchResult result);

/// Runs one search, such as rondo::search().
using RunSearch =
    std::function<SearchResult(const Problem &, const SearchOptions &)>;

struct FittingSearch {
  const PlanFigures &plan;
  /// The plan's problem, with a bound for it.
  const Problem &problem;
  Bound bound;
  /// The same problem with lower caps, where programs of schedules did not fit.
  Problem &tightened;
  RunSearch run;
  /// Whether to stop if time is over before anything has fitted.
  std::function<bool()> mayGiveUp;
  /// Whether families are tried; an earlier call may have done so.
  bool triesFamilies = true;
};

/// The best schedule whose programs fit the devices; a result without one says
/// why. Where a program may not fit, first the families and one micro-batch at
/// a time, until a quarter of the time is over. A part of the
/// options' time or effort then tries the present caps. Where that fits the
/// rest goes on under them, else the caps are lowered by what is missing, later
/// by more, for an attempt as long as the first.
SearchResult searchFitting(const FittingSearch &search,
                           const SearchOptions &options);

/// The same for a plan of its own: a plain search where everything fits, or
/// where the plan declares no weights and memory is that of activations.
SearchResult searchPlan(const PlanFigures &plan, const Problem &problem,
                        const SearchOptions &options, const RunSearch &run);

} // namespace rondo

#endif // RONDO_PLANNING_FITTINGSEARCH_H
