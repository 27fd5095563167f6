//===- LeanPlans.cpp - Plans that need little memory ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/LeanPlans.h"

#include "planning/chain/FewestDevices.h"
#include "planning/chain/StartPlans.h"
#include "planning/model/ModelPlans.h"
#include "schedule/search/OneByOne.h"

#include <algorithm>
#include <utility>

using namespace rondo;

/// Number of plans that lack memory, and of sizes of micro-batches, that are
/// tried.
static constexpr size_t maxLean = 12, maxLeanSizes = 3;

/// The plans to try.
static std::vector<ModelPlan> leanPlans(const PlanOffers &offers) {
  const ModelSpace &space = offers.space;
  const ModelPlannerOptions &options = offers.options;
  std::vector<const PlanOffers::Seen *> lacking;
  for (const PlanOffers::Seen &each : offers.all())
    if (each.missingBytes > 0)
      lacking.push_back(&each);
  std::stable_sort(lacking.begin(), lacking.end(),
                   [](const PlanOffers::Seen *a, const PlanOffers::Seen *b) {
                     return a->missingBytes < b->missingBytes;
                   });
  if (lacking.size() > maxLean)
    lacking.resize(maxLean);
  std::vector<ModelPlan> plans;
  for (const PlanOffers::Seen *each : lacking)
    plans.push_back(each->plan);
  if (!options.begins.empty())
    return plans;
  std::vector<int64_t> sizes = microbatchSizes(space, options);
  std::sort(sizes.begin(), sizes.end());
  if (sizes.size() > maxLeanSizes)
    sizes.resize(maxLeanSizes);
  for (int64_t samples : sizes)
    for (bool recomputes : {false, true}) {
      if (offers.isOver() ||
          options.recompute ==
              (recomputes ? RecomputeChoice::None : RecomputeChoice::All))
        continue;
      const std::vector<bool> again =
          recomputes ? space.mayRecompute : std::vector<bool>(space.layers);
      const Result<ChainProblem> chain = space.chain(samples, {again});
      if (!chain || chain->memoryBytes == 0)
        continue;
      for (const ChainPlan &plan :
           fittingPlans(*chain, leastMemoryBytes(*chain), deviceOrders(*chain)))
        plans.push_back(modelPlanOf(plan, samples, chain->samples, {again}));
    }
  return plans;
}

void rondo::fitOneByOne(PlanOffers &offers) {
  ModelPlannerResult &result = offers.result;
  if (!result.plans.empty())
    return;
  std::optional<PlanTrial> nearest;
  for (const ModelPlan &plan : leanPlans(offers)) {
    if (offers.isOver() && nearest)
      break;
    Result<LaidPlan> made = offers.space.make(plan);
    if (!made)
      continue;
    ++result.tried;
    PlanTrial trial;
    trial.laid = std::move(*made);
    trial.improve(oneByOne(trial.laid.problem), "");
    if (trial.fits())
      offers.add(std::move(trial));
    else if (trial.missingBytes > 0 &&
             (!nearest || trial.missingBytes < nearest->missingBytes))
      nearest = std::move(trial);
  }
  if (nearest)
    result.nearest = std::move(nearest);
}
