//===- ModelBaselines.cpp - Published planners on a model -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelBaselines.h"

#include "planning/RunLimits.h"
#include "planning/model/ModelPlans.h"

#include <algorithm>

using namespace rondo;

/// Whether `trial` is better than `best`: it fits, is faster, or lacks less
/// memory.
static bool isRather(const PlanTrial &trial, const PlanTrial &best) {
  if (trial.fits() != best.fits())
    return trial.fits();
  if (trial.fits())
    return trial.isBetterThan(best);
  return trial.missingBytes < best.missingBytes;
}

static std::optional<PlanTrial>
tryBaseline(const ModelSpace &space, const Baseline &baseline, int64_t samples,
            const std::vector<bool> &recomputes) {
  const Result<ChainProblem> chain = space.chain(samples, {recomputes});
  if (!chain)
    return {};
  const BaselinePlan found = baseline.plan(*chain, PlanEvaluator::OneFOneB);
  if (!found.plan)
    return {};
  Result<LaidPlan> laid = space.make(
      modelPlanOf(*found.plan, samples, chain->samples, {recomputes}));
  if (!laid)
    return {};
  return tryPlan(std::move(*laid), {*parseFamily("1f1b")});
}

std::vector<ModelBaseline>
rondo::runModelBaselines(const ModelSpace &space,
                         const ModelPlannerOptions &options) {
  std::vector<ModelBaseline> all;
  for (const Baseline &baseline : baselines())
    all.push_back({&baseline, std::nullopt});
  const RunLimits limits(options.deadline, options.interrupt);
  for (int64_t samples : microbatchSizes(space, options))
    for (ModelBaseline &each : all) {
      std::optional<PlanTrial> trial;
      for (const std::vector<bool> &recomputes :
           {std::vector<bool>(space.layers), space.mayRecompute}) {
        if (limits.isOver())
          return all;
        if (trial && trial->fits())
          continue;
        trial = tryBaseline(space, *each.baseline, samples, recomputes);
        if (trial && (!each.best || isRather(*trial, *each.best)))
          each.best = *trial;
      }
    }
  for (ModelBaseline &each : all)
    each.isCutShort = false;
  return all;
}
