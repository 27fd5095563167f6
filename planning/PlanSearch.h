//===- PlanSearch.h - Searches placement and shape of a plan ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANSEARCH_H
#define RONDO_PLANNING_PLANSEARCH_H

#include "planning/PlanCandidates.h"

#include <functional>
#include <optional>
#include <vector>

namespace rondo {

struct PlanSearchOptions {
  /// Seed, effort, interrupt and so on for the whole search; the time is the
  /// deadline's, and the observer is the one below.
  SearchOptions search;
  /// Overrides the plans' own.
  std::optional<Objective> objective;
  Deadline deadline;
  /// Called on the calling thread with what the search of a candidate knows,
  /// whenever that has improved. May be empty.
  std::function<void(const PlanCandidate &, const SearchProgress &)> observer;
};

struct PlanSearchResult {
  /// One per shape, in their order.
  std::vector<PlanCandidate> candidates;
  /// The first of the fastest; empty if no plan has a schedule that fits.
  std::optional<size_t> best;
  /// No order of any candidate with a plan is faster.
  int64_t boundNs = 0;
  /// The search was told to end early.
  bool isInterrupted = false;
};

/// Makes a plan of each shape, searches the promising ones in turn, and returns
/// which has the fastest schedule whose programs fit their devices.
PlanSearchResult searchPlans(const PlanSpace &space,
                             const std::vector<PlanShape> &shapes,
                             const PlanSearchOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_PLANSEARCH_H
