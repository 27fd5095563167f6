//===- PlanOffers.cpp - The plans that a model planner has tried ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/PlanOffers.h"

#include <functional>
#include <utility>

using namespace rondo;

/// The most that a schedule may lack, as a part of the activations it holds,
/// for a search to find another that fits.
static constexpr double hopefulExcess = 1. / 16, hopefulWithCopies = 1. / 4;
/// Plans that take more than this multiple of the best plan's time are dropped.
static constexpr double slowest = 1.5;

int64_t PlanOffers::ceilingNs() const {
  return result.plans.empty()
             ? infinite
             : static_cast<int64_t>(double(result.plans.front().timeNs) *
                                    slowest);
}

const PlanTrial *PlanOffers::offer(const ModelPlan &plan) {
  if (findSeen(plan))
    return nullptr;
  seen.push_back({plan});
  Result<LaidPlan> made = space.make(plan);
  if (!made) {
    result.refused.emplace_back(plan.samples, describe(made.fault()));
    return nullptr;
  }
  ModelPlan withoutCopies = plan;
  withoutCopies.offloads = false;
  if (plan.offloads && !made->problem.hostMemory.hasCopies())
    return offer(withoutCopies);
  PlanTrial trial = tryPlan(std::move(*made), allFamilies(), ceilingNs());
  ++result.tried;
  if (plan.offloads && trial.fits() && !trial.schedule->hasCopies())
    return offer(withoutCopies);
  seen.back().misfits = trial.misfits;
  seen.back().missingBytes = trial.missingBytes;
  noteHopeful(trial);
  if (trial.isSlow)
    return nullptr;
  if (!trial.fits()) {
    const bool isNearer = !result.nearest ||
                          (trial.missingBytes > 0 &&
                           (result.nearest->missingBytes == 0 ||
                            trial.missingBytes < result.nearest->missingBytes));
    misfit = std::move(trial);
    if (isNearer)
      result.nearest = misfit;
    return &*misfit;
  }
  return add(std::move(trial));
}

const PlanTrial *PlanOffers::add(PlanTrial trial) {
  return &*insertByRank(result.plans, std::move(trial),
                        std::mem_fn(&PlanTrial::isBetterThan));
}

void PlanOffers::noteHopeful(const PlanTrial &trial) {
  for (const Misfit &misfit : trial.misfits) {
    double most = 0;
    for (size_t group = 0; group < misfit.excessBytes.size(); ++group)
      most = std::max(most, double(misfit.excessBytes[group]) /
                                double(misfit.heldBytes[group]));
    if (most > (trial.laid.plan.offloads ? hopefulWithCopies : hopefulExcess) ||
        misfit.timeNs >= hopefulNs)
      continue;
    hopefulNs = misfit.timeNs;
    hopeful.emplace();
    hopeful->laid = trial.laid;
  }
}

const RecomputeCosts *PlanOffers::costsOf(int64_t samples) {
  auto [place, isNew] = recomputeCosts.try_emplace(samples);
  if (isNew) {
    Result<ChainProblem> kept =
        space.chain(samples, {std::vector<bool>(space.layers)});
    Result<ChainProblem> recomputed =
        space.chain(samples, {space.mayRecompute});
    if (kept && recomputed)
      place->second = {std::move(*kept), std::move(*recomputed)};
  }
  return place->second ? &*place->second : nullptr;
}
