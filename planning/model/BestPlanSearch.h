//===- BestPlanSearch.h - Searches of the best plans ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_BESTPLANSEARCH_H
#define RONDO_PLANNING_MODEL_BESTPLANSEARCH_H

#include "planning/model/PlanOffers.h"

namespace rondo {

/// In the time that is left: searches better schedules of the best plans and of
/// the hopeful one. If the best plan recomputes, also for zigzags on groups of
/// even size (Zigzag.h).
void searchBestPlans(PlanOffers &offers);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_BESTPLANSEARCH_H
