//===- BestPlanSearch.cpp - Searches of the best plans --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/BestPlanSearch.h"

#include "planning/model/ModelPlans.h"
#include "planning/model/OrderSearch.h"
#include "planning/model/Zigzag.h"

#include <algorithm>
#include <functional>
#include <utility>

using namespace rondo;

/// Limits of a search in a part of the time that is left; nothing if none is.
static std::optional<SearchOptions> limitsOfSearch(const PlanOffers &offers,
                                                   double part) {
  const ModelPlannerOptions &options = offers.options;
  SearchOptions chosen;
  chosen.seed = options.seed;
  chosen.effort = options.effort;
  chosen.inIndexOrder = true;
  chosen.interrupt = options.interrupt;
  chosen.timeLimitMs =
      options.deadline.exists()
          ? static_cast<int64_t>(double(options.deadline.leftMs()) * part)
          : 0;
  if (offers.isOver() || (options.deadline.exists() && chosen.timeLimitMs == 0))
    return {};
  return chosen;
}

/// Searches a better schedule of a plan in a part of the time that is left.
static void searchFor(const PlanOffers &offers, PlanTrial &trial, double part) {
  if (const std::optional<SearchOptions> chosen = limitsOfSearch(offers, part))
    searchOrder(trial, *chosen);
}

/// If the best plan recomputes: zigzags on groups of even size.
static void searchZigzags(PlanOffers &offers) {
  ModelPlannerResult &result = offers.result;
  const ModelPlannerOptions &options = offers.options;
  if (result.plans.empty() || !options.begins.empty() ||
      options.recompute != RecomputeChoice::Auto)
    return;
  const PlanTrial &front = result.plans.front();
  const std::vector<bool> &again = front.laid.plan.recomputes;
  const RecomputeCosts *costs = offers.costsOf(front.laid.plan.samples);
  if (!costs || std::find(again.begin(), again.end(), true) == again.end())
    return;
  const std::vector<ModelPlan> plans =
      zigzags(evenGroups(front.laid.plan, costs->kept), *costs, front.timeNs);
  result.tried += static_cast<int64_t>(plans.size());
  std::optional<PlanTrial> trial =
      bestSteady(offers.space, plans, front.timeNs,
                 [&](double part) { return limitsOfSearch(offers, part); });
  if (trial)
    offers.add(std::move(*trial));
}

void rondo::searchBestPlans(PlanOffers &offers) {
  searchZigzags(offers);
  std::vector<PlanTrial> &plans = offers.result.plans;
  const auto count = std::min<size_t>(offers.options.searched, plans.size());
  if (offers.hopeful && count > 0 && offers.hopefulNs < plans.front().timeNs) {
    searchFor(offers, *offers.hopeful, 0.5);
    if (offers.hopeful->fits())
      plans.push_back(std::move(*offers.hopeful));
  }
  for (size_t k = 0; k < count; ++k)
    searchFor(offers, plans[k], 1 / double(count - k));
  std::stable_sort(plans.begin(), plans.end(),
                   std::mem_fn(&PlanTrial::isBetterThan));
}
