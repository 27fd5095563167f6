//===- ModelPlanner.cpp - Plans a model on a cluster ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelPlanner.h"

#include "planning/FitLoop.h"
#include "planning/chain/ChainPlanner.h"
#include "planning/model/BestPlanSearch.h"
#include "planning/model/LeanPlans.h"
#include "planning/model/ModelBound.h"
#include "planning/model/ModelPlans.h"
#include "planning/model/PlanOffers.h"
#include "planning/model/PlanRefinement.h"

#include <algorithm>

using namespace rondo;

namespace {

/// End of each step, as a part of the time limit.
constexpr double proposalsEnd = 0.6, refinementEnd = 0.75;
/// Maximum number of attempts to plan a chain; each after the first has less
/// memory, since the plan before did not fit.
constexpr int32_t maxRounds = 5;
/// Effort of the chain planner if neither effort nor a time limit is given.
constexpr int64_t defaultEffort = 50;

class Planner {
public:
  Planner(const ModelSpace &space, const ModelPlannerOptions &options)
      : offers(space, options), space(space), options(options),
        result(offers.result) {}

  ModelPlannerResult run();

private:
  struct Proposal {
    int64_t samples = 0;
    KeptLayers layers;
    double until = 0;
  };
  void proposeAll();
  /// Returns whether the first plan fits with memory to spare (isRoomy()).
  bool propose(const Proposal &proposal);
  ChainPlannerResult planWithin(const ChainProblem &chain, double until) const;
  void offerFastest();

  PlanOffers offers;
  const ModelSpace &space;
  const ModelPlannerOptions &options;
  ModelPlannerResult &result;
};

ChainPlannerResult Planner::planWithin(const ChainProblem &chain,
                                       double until) const {
  ChainPlannerOptions chosen;
  chosen.seed = options.seed;
  chosen.effort = options.effort > 0 ? options.effort : defaultEffort;
  chosen.timeLimitMs =
      options.deadline.exists()
          ? std::max<int64_t>(1, options.deadline.leftMs(until))
          : 0;
  chosen.interrupt = options.interrupt;
  return planChain(chain, chosen);
}

/// Whether so much memory is free that it can hardly have limited the plan.
static bool isRoomy(const PlanTrial &trial) {
  constexpr double maxUsed = 0.6;
  for (size_t rank = 0; rank < trial.arenaBytes.size(); ++rank)
    if (double(trial.arenaBytes[rank]) >
        maxUsed * double(trial.laid.figures.devices[rank]))
      return false;
  return true;
}

/// Plans stages and replicas for one size of micro-batches; again with less
/// memory if the plan does not fit.
bool Planner::propose(const Proposal &proposal) {
  Result<ChainProblem> made = space.chain(proposal.samples, proposal.layers);
  if (!made) {
    result.refused.emplace_back(proposal.samples, describe(made.fault()));
    return false;
  }
  auto &chain = *made;
  if (!options.begins.empty()) {
    offers.offer(planOfCut(chain, {proposal.samples, options.begins,
                                   options.givenChunks, proposal.layers}));
    return false;
  }
  bool hasRoom = false;
  lowerUntilFitting(
      chain.memoryBytes, maxRounds, [](int64_t) { return false; },
      [&](int64_t round, int64_t memoryBytes) -> std::optional<int64_t> {
        chain.memoryBytes = memoryBytes;
        const ChainPlannerResult found = planWithin(chain, proposal.until);
        if (!found.plan) {
          if (found.fault && round == 0)
            result.refused.emplace_back(proposal.samples,
                                        describe(*found.fault));
          return std::nullopt;
        }
        const ModelPlan plan = modelPlanOf(*found.plan, proposal.samples,
                                           chain.samples, proposal.layers);
        const bool wasSeen = offers.findSeen(plan);
        const PlanTrial *trial = offers.offer(plan);
        if (trial && trial->fits()) {
          hasRoom = round == 0 && isRoomy(*trial);
          return std::nullopt;
        }
        const bool lacksMemory =
            memoryBytes > 0 && (trial ? trial->missingBytes > 0 : wasSeen);
        if (!lacksMemory || offers.isOver())
          return std::nullopt;
        // Memory that the chain's costs do not count, for messages, workspace
        // and staging, is about the same in the next plan.
        const int64_t lower = found.neededBytes - found.memoryBytes / 100 -
                              (trial ? trial->missingBytes : 0);
        return lower > 0 ? std::optional(lower) : std::nullopt;
      });
  return hasRoom;
}

void Planner::proposeAll() {
  const std::vector<int64_t> all = microbatchSizes(space, options);
  const bool canRecompute =
      options.recompute != RecomputeChoice::None &&
      std::find(space.mayRecompute.begin(), space.mayRecompute.end(), true) !=
          space.mayRecompute.end();
  double ended = 0;
  for (int64_t samples : all) {
    const double share = proposalsEnd / double(2 * all.size());
    if (offers.isOver(proposalsEnd) && result.tried > 0)
      return;
    bool hasRoom = false;
    const std::vector<bool> none(space.layers);
    if (options.recompute != RecomputeChoice::All)
      hasRoom = propose({samples, {none}, ended + share});
    if (offers.mayOffload() && options.recompute != RecomputeChoice::All &&
        !hasRoom)
      propose({samples, {none, true}, ended + 1.5 * share});
    ended += 2 * share;
    if (canRecompute && !hasRoom)
      propose({samples, {space.mayRecompute}, ended});
  }
}

/// If devices differ, the fastest alone may be better than all together.
void Planner::offerFastest() {
  if (!options.begins.empty() || space.slowestDevices <= space.ranks ||
      options.recompute == RecomputeChoice::All)
    return;
  for (int64_t samples : microbatchSizes(space, options))
    if (!offers.isOver())
      offers.offer(
          modelPlanOf({{0, space.layers, {space.fastestRank}}}, samples,
                      /*maxReplicas=*/1, {std::vector<bool>(space.layers)}));
}

ModelPlannerResult Planner::run() {
  proposeAll();
  fitOneByOne(offers);
  refinePlans(offers, refinementEnd,
              [this](int64_t samples, const KeptLayers &layers, double until) {
                propose({samples, layers, until});
              });
  offerFastest();
  searchBestPlans(offers);
  const ModelBound bound = boundOf(
      space, options,
      result.plans.empty() ? std::nullopt
                           : std::optional(result.plans.front().timeNs));
  result.lowerBoundNs = bound.ns;
  result.boundCountsRecomputation = bound.countsRecomputation;
  return std::move(result);
}

} // namespace

/// Sorts sizes by their ratio to half of the number of ranks, so that small and
/// large sizes alternate and both are tried if time is short.
std::vector<int64_t>
rondo::microbatchSizes(const ModelSpace &space,
                       const ModelPlannerOptions &options) {
  if (!options.microbatchSamples.empty())
    return options.microbatchSamples;
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= space.samples; ++size)
    if (space.samples % size == 0)
      sizes.push_back(size);
  auto distance = [&](int64_t size) {
    const double ratio = double(size) / std::max(1, space.ranks / 2);
    return std::max(ratio, 1 / ratio);
  };
  std::stable_sort(sizes.begin(), sizes.end(), [&](int64_t a, int64_t b) {
    return distance(a) < distance(b);
  });
  return sizes;
}

ModelPlannerResult rondo::planModel(const ModelSpace &space,
                                    const ModelPlannerOptions &options) {
  return Planner(space, options).run();
}
