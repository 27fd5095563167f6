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
  /// Seed, effort, interrupt and other options of the whole search. `deadline`
  /// and `observer` below replace its time limit and observer.
  SearchOptions search;
  /// Overrides the objectives of the plans.
  std::optional<Objective> objective;
  Deadline deadline;
  /// Called on the calling thread whenever the search of a candidate improves
  /// its schedule or bound. May be empty.
  std::function<void(const PlanCandidate &, const SearchProgress &)> observer;
};

struct PlanSearchResult {
  /// One per shape, in their order.
  std::vector<PlanCandidate> candidates;
  /// The first of the fastest candidates; empty if no plan has a schedule that
  /// fits.
  std::optional<size_t> best;
  /// A lower bound for all candidates with a plan.
  int64_t boundNs = 0;
  /// Whether the interrupt ended the search.
  bool isInterrupted = false;
};

/// Makes a plan of each shape, searches the promising ones in rounds, and
/// returns all candidates and the one with the fastest schedule whose programs
/// fit their devices.
PlanSearchResult searchPlans(const PlanSpace &space,
                             const std::vector<PlanShape> &shapes,
                             const PlanSearchOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_PLANSEARCH_H
