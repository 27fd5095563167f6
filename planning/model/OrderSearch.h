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

#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// Searches a better schedule of a plan (searchPlan()).
void searchOrder(PlanTrial &trial, const SearchOptions &options);

/// The limits of a search in a part of the time that is left; nothing if none
/// is.
using LimitsOfSearch = std::function<std::optional<SearchOptions>(double)>;

/// For plans without an applicable family: estimates the time of each in orders
/// that repeat each period (SteadyOrder.h), and searches such an order for the
/// fastest plan.
/// Nothing if none is estimated to take less than `ceilingNs`, or if no order
/// fits the devices.
std::optional<PlanTrial> bestSteady(const ModelSpace &space,
                                    const std::vector<ModelPlan> &plans,
                                    int64_t ceilingNs,
                                    const LimitsOfSearch &limits);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_ORDERSEARCH_H
