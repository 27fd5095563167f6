//===- OrderSearch.h - Searches of the order of a plan ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that share all their stages are searched as one.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_MODEL_ORDERSEARCH_H
#define RONDO_PLANNING_MODEL_ORDERSEARCH_H

#include "planning/model/PlanTrial.h"
#include "schedule/search/Search.h"

namespace rondo {

/// Searches a better schedule of a plan (searchPlan()).
void searchOrder(PlanTrial &trial, const SearchOptions &options);

/// Searches a better schedule that repeats each period (searchSteady()).
void searchSteadyOrder(PlanTrial &trial, const SearchOptions &options);

/// The time of an iteration in such a schedule, by steadyEstimateNs();
/// infinity if there is none.
double estimateSteadyNs(const LaidPlan &laid, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_ORDERSEARCH_H
