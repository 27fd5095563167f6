//===- PlanRefinement.cpp - Chunks, copies and less recomputation ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/PlanRefinement.h"

#include "planning/model/ModelPlans.h"

#include <algorithm>
#include <utility>

using namespace rondo;

/// Number of best plans for which chunks and less recomputation are tried.
static constexpr size_t maxRefined = 4;
/// Maximum number of times that a plan recomputes more because it did not fit.
static constexpr int32_t maxFits = 6;

namespace {

class Refinement {
public:
  Refinement(PlanOffers &offers, double until, const Repropose &repropose)
      : offers(offers), options(offers.options), result(offers.result),
        until(until), repropose(repropose) {}

  void run();

private:
  bool isOver() const { return offers.isOver(until); }
  std::vector<ModelPlan> bestPlans() const;
  void relieve(const PlanTrial &trial, bool offloads);
  void offerCopies(ModelPlan plan);
  void offerUntilFitting(ModelPlan plan);
  void offerFittingChunks(const ModelPlan &plan);

  PlanOffers &offers;
  const ModelPlannerOptions &options;
  const ModelPlannerResult &result;
  const double until;
  const Repropose &repropose;
};

} // namespace

/// The plans to refine.
std::vector<ModelPlan> Refinement::bestPlans() const {
  std::vector<ModelPlan> best;
  for (const PlanTrial &trial : result.plans)
    if (best.size() < maxRefined)
      best.push_back(trial.laid.plan);
  return best;
}

/// Lets as many of the last stages as memory allows keep their activations,
/// since they have fewer micro-batches in flight. Then plans again with the
/// layers that still recompute.
void Refinement::relieve(const PlanTrial &trial, bool offloads) {
  ModelPlan plan = trial.laid.plan;
  plan.offloads = offloads;
  int32_t kept = 0, tooMany = static_cast<int32_t>(plan.stages.size()) + 1;
  auto relieved = [&](int32_t stages) {
    ModelPlan other = plan;
    for (size_t s = plan.stages.size() - stages; s < plan.stages.size(); ++s)
      for (int32_t layer = plan.stages[s].first; layer < plan.stages[s].end;
           ++layer)
        other.recomputes[layer] = false;
    return other;
  };
  while (tooMany - kept > 1) {
    const int32_t middle = kept + (tooMany - kept) / 2;
    const PlanTrial *tried = offers.offer(relieved(middle));
    if (isOver())
      return;
    if (tried && tried->fits())
      kept = middle;
    else
      tooMany = middle;
  }
  if (kept > 0)
    repropose(plan.samples, {relieved(kept).recomputes, offloads}, until);
}

/// A plan with copies in place of recomputation, and with both: layers
/// recompute as far as copies do not suffice.
void Refinement::offerCopies(ModelPlan plan) {
  if (!offers.mayOffload() || options.recompute == RecomputeChoice::All ||
      isOver())
    return;
  plan.offloads = true;
  plan.recomputes.assign(offers.space.layers, false);
  if (options.recompute == RecomputeChoice::Auto)
    offerUntilFitting(std::move(plan));
  else
    offers.offer(plan);
}

/// Evaluates a plan, then others that each recompute the bytes that the one
/// before lacked, as long as they may be faster than the best.
void Refinement::offerUntilFitting(ModelPlan plan) {
  const RecomputeCosts *costs = offers.costsOf(plan.samples);
  for (int32_t round = 0; costs && round < maxFits; ++round) {
    offers.offer(plan);
    const PlanOffers::Seen *tried = offers.findSeen(plan);
    std::optional<ModelPlan> next = recomputeMore(plan, tried->misfits, *costs,
                                                  result.plans.front().timeNs);
    if (!next || isOver())
      return;
    plan = std::move(*next);
  }
}

/// Chunks on the plan's groups, and on groups of even size.
void Refinement::offerFittingChunks(const ModelPlan &plan) {
  const RecomputeCosts *costs = offers.costsOf(plan.samples);
  if (!costs)
    return;
  for (const ModelPlan &groups : {evenGroups(plan, costs->kept), plan})
    for (int32_t chunks : options.chunks)
      for (bool isV : {true, false})
        for (double slack : {0.5, 1.}) {
          if (isOver() || (isV && chunks != 2))
            continue;
          if (std::optional<ModelPlan> cut =
                  inChunksThatFit(groups, *costs, {chunks, isV}, slack))
            offerUntilFitting(std::move(*cut));
        }
}

void Refinement::run() {
  for (const ModelPlan &plan : bestPlans()) {
    const Result<ChainProblem> chain =
        offers.space.chain(plan.samples, {plan.recomputes, plan.offloads});
    for (int32_t chunks :
         options.begins.empty() ? options.chunks : std::vector<int32_t>())
      for (bool isV : {false, true}) {
        if (isOver())
          return;
        if (isV && chunks != 2)
          continue;
        const auto cut = inChunks(plan, *chain, {chunks, isV});
        if (!cut)
          continue;
        // Chunks hold more than their groups: copies may make them fit.
        if (const PlanTrial *trial = offers.offer(cut->plan);
            !trial || !trial->fits())
          offerCopies(cut->plan);
      }
  }
  for (ModelPlan &plan : bestPlans())
    offerCopies(std::move(plan));
  if (options.recompute != RecomputeChoice::Auto)
    return;
  std::vector<PlanTrial> heavy;
  for (const PlanTrial &trial : result.plans)
    if (heavy.size() < maxRefined &&
        std::find(trial.laid.plan.recomputes.begin(),
                  trial.laid.plan.recomputes.end(),
                  true) != trial.laid.plan.recomputes.end())
      heavy.push_back(trial);
  if (options.begins.empty() && !heavy.empty() &&
      heavy.front().laid.plan == result.plans.front().laid.plan)
    offerFittingChunks(heavy.front().laid.plan);
  for (const PlanTrial &trial : heavy)
    for (const bool offloads : {false, true})
      if ((offers.mayOffload() || !offloads) && !isOver())
        relieve(trial, offloads);
}

void rondo::refinePlans(PlanOffers &offers, double until,
                        const Repropose &repropose) {
  Refinement(offers, until, repropose).run();
}
