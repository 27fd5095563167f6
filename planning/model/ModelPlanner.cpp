//===- ModelPlanner.cpp - Plans a model on a cluster ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelPlanner.h"

#include "planning/FitLoop.h"
#include "planning/RunLimits.h"
#include "planning/chain/ChainPlanner.h"
#include "planning/chain/FewestDevices.h"
#include "planning/chain/StartPlans.h"
#include "planning/model/ModelBound.h"
#include "planning/model/OrderSearch.h"
#include "planning/model/RecomputeToFit.h"
#include "planning/model/Zigzag.h"
#include "schedule/search/OneByOne.h"

#include <algorithm>
#include <functional>
#include <map>

using namespace rondo;

namespace {

/// End of each step, as a part of the time limit.
constexpr double proposalsEnd = 0.6, refinementEnd = 0.75;
/// Maximum number of attempts to plan a chain; each after the first has less
/// memory, since the plan before did not fit.
constexpr int32_t maxRounds = 5;
/// Number of best plans for which chunks and less recomputation are tried.
constexpr size_t maxRefined = 4;
/// Maximum number of times that a plan recomputes more because it did not fit.
constexpr int32_t maxFits = 6;
/// The most that a schedule may lack, as a part of the activations it holds,
/// for a search to find another that fits.
constexpr double hopefulExcess = 1. / 16, hopefulWithCopies = 1. / 4;
/// Plans that take more than this multiple of the best plan's time are dropped.
constexpr double slowest = 1.5;
/// Number of plans that lack memory, and of sizes of micro-batches, that are
/// tried with one micro-batch at a time if no plan fits.
constexpr size_t maxLean = 12, maxLeanSizes = 3;
/// Effort of the chain planner if neither effort nor a time limit is given.
constexpr int64_t defaultEffort = 50;

class Planner {
public:
  Planner(const ModelSpace &space, const ModelPlannerOptions &options)
      : space(space), options(options),
        limits(options.deadline, options.interrupt) {}

  ModelPlannerResult run();

private:
  struct Proposal {
    int64_t samples = 0;
    KeptLayers layers;
    double until = 0;
  };
  bool isOver(double part = 1) const { return limits.isOver(part); }
  /// Plans that take longer than this are dropped without lowering their
  /// programs.
  int64_t ceilingNs() const {
    return result.plans.empty()
               ? infinite
               : static_cast<int64_t>(double(result.plans.front().timeNs) *
                                      slowest);
  }
  bool mayOffload() const { return space.mayOffload() && options.mayOffload; }
  void proposeAll();
  std::vector<ModelPlan> leanPlans() const;
  void fitOneByOne();
  /// Returns whether the first plan fits with memory to spare (isRoomy()).
  bool propose(const Proposal &proposal);
  ChainPlannerResult planWithin(const ChainProblem &chain, double until) const;
  /// A plan that was offered, and what it lacked.
  struct Seen {
    ModelPlan plan;
    std::vector<Misfit> misfits = {};
    int64_t missingBytes = 0;
  };
  const Seen *findSeen(const ModelPlan &plan) const {
    const auto found =
        std::find_if(seen.begin(), seen.end(),
                     [&](const Seen &each) { return each.plan == plan; });
    return found == seen.end() ? nullptr : &*found;
  }
  /// Tries a plan. Returns null if it was tried before, cannot be made or is
  /// slow. The pointer is valid until the next call.
  const PlanTrial *offer(const ModelPlan &plan);
  void noteHopeful(const PlanTrial &trial);
  void refine();
  void relieve(const PlanTrial &trial, bool offloads);
  void offerCopies(ModelPlan plan);
  /// The plans to refine.
  std::vector<ModelPlan> bestPlans() const;
  const RecomputeCosts *costsOf(int64_t samples);
  /// Evaluates a plan, then others that each recompute the bytes that the one
  /// before lacked, as long as they may be faster than the best.
  void offerUntilFitting(ModelPlan plan);
  void offerFittingChunks(const ModelPlan &plan);
  void offerFastest();
  std::optional<SearchOptions> limitsOfSearch(double part) const;
  void searchFor(PlanTrial &trial, double part);
  void searchZigzags();
  void searchBest();

  const ModelSpace &space;
  const ModelPlannerOptions &options;
  const RunLimits limits;
  ModelPlannerResult result;
  /// The last plan that did not fit.
  std::optional<PlanTrial> misfit;
  std::vector<Seen> seen;
  /// The plan whose fastest schedule that lacks little memory is the fastest:
  /// a search may find another order for it that fits.
  std::optional<PlanTrial> hopeful;
  int64_t hopefulNs = infinite;
  /// [samples of a micro-batch].
  std::map<int64_t, std::optional<RecomputeCosts>> recomputeCosts;
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

const PlanTrial *Planner::offer(const ModelPlan &plan) {
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
  return &*insertByRank(result.plans, std::move(trial),
                        std::mem_fn(&PlanTrial::isBetterThan));
}

void Planner::noteHopeful(const PlanTrial &trial) {
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
    offer(planOfCut(chain, {proposal.samples, options.begins,
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
        const bool wasSeen = findSeen(plan);
        const PlanTrial *trial = offer(plan);
        if (trial && trial->fits()) {
          hasRoom = round == 0 && isRoomy(*trial);
          return std::nullopt;
        }
        const bool lacksMemory =
            memoryBytes > 0 && (trial ? trial->missingBytes > 0 : wasSeen);
        if (!lacksMemory || isOver())
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
    if (isOver(proposalsEnd) && result.tried > 0)
      return;
    bool hasRoom = false;
    const std::vector<bool> none(space.layers);
    if (options.recompute != RecomputeChoice::All)
      hasRoom = propose({samples, {none}, ended + share});
    if (mayOffload() && options.recompute != RecomputeChoice::All && !hasRoom)
      propose({samples, {none, true}, ended + 1.5 * share});
    ended += 2 * share;
    if (canRecompute && !hasRoom)
      propose({samples, {space.mayRecompute}, ended});
  }
}

/// If no plan fits: the plans that lack least, and those that need the least
/// memory by the rules of chains.
std::vector<ModelPlan> Planner::leanPlans() const {
  std::vector<const Seen *> lacking;
  for (const Seen &each : seen)
    if (each.missingBytes > 0)
      lacking.push_back(&each);
  std::stable_sort(lacking.begin(), lacking.end(),
                   [](const Seen *a, const Seen *b) {
                     return a->missingBytes < b->missingBytes;
                   });
  if (lacking.size() > maxLean)
    lacking.resize(maxLean);
  std::vector<ModelPlan> plans;
  for (const Seen *each : lacking)
    plans.push_back(each->plan);
  if (!options.begins.empty())
    return plans;
  std::vector<int64_t> sizes = microbatchSizes(space, options);
  std::sort(sizes.begin(), sizes.end());
  if (sizes.size() > maxLeanSizes)
    sizes.resize(maxLeanSizes);
  for (int64_t samples : sizes)
    for (bool recomputes : {false, true}) {
      if (isOver() || options.recompute == (recomputes ? RecomputeChoice::None
                                                       : RecomputeChoice::All))
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

/// If no plan fits: one micro-batch at a time, the order that needs the least
/// memory. What programs of this order lack is exact.
void Planner::fitOneByOne() {
  if (!result.plans.empty())
    return;
  std::optional<PlanTrial> nearest;
  for (const ModelPlan &plan : leanPlans()) {
    if (isOver() && nearest)
      break;
    Result<LaidPlan> made = space.make(plan);
    if (!made)
      continue;
    ++result.tried;
    PlanTrial trial;
    trial.laid = std::move(*made);
    trial.improve(oneByOne(trial.laid.problem), "");
    if (trial.fits())
      insertByRank(result.plans, std::move(trial),
                   std::mem_fn(&PlanTrial::isBetterThan));
    else if (trial.missingBytes > 0 &&
             (!nearest || trial.missingBytes < nearest->missingBytes))
      nearest = std::move(trial);
  }
  if (nearest)
    result.nearest = std::move(nearest);
}

/// Lets as many of the last stages as memory allows keep their activations,
/// since they have fewer micro-batches in flight. Then plans again with the
/// layers that still recompute.
void Planner::relieve(const PlanTrial &trial, bool offloads) {
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
    const PlanTrial *tried = offer(relieved(middle));
    if (isOver(refinementEnd))
      return;
    if (tried && tried->fits())
      kept = middle;
    else
      tooMany = middle;
  }
  if (kept > 0)
    propose(
        {plan.samples, {relieved(kept).recomputes, offloads}, refinementEnd});
}

/// A plan with copies in place of recomputation, and with both: layers
/// recompute as far as copies do not suffice.
void Planner::offerCopies(ModelPlan plan) {
  if (!mayOffload() || options.recompute == RecomputeChoice::All ||
      isOver(refinementEnd))
    return;
  plan.offloads = true;
  plan.recomputes.assign(space.layers, false);
  if (options.recompute == RecomputeChoice::Auto)
    offerUntilFitting(std::move(plan));
  else
    offer(plan);
}

std::vector<ModelPlan> Planner::bestPlans() const {
  std::vector<ModelPlan> best;
  for (const PlanTrial &trial : result.plans)
    if (best.size() < maxRefined)
      best.push_back(trial.laid.plan);
  return best;
}

const RecomputeCosts *Planner::costsOf(int64_t samples) {
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

void Planner::offerUntilFitting(ModelPlan plan) {
  const RecomputeCosts *costs = costsOf(plan.samples);
  for (int32_t round = 0; costs && round < maxFits; ++round) {
    offer(plan);
    const Seen *tried = findSeen(plan);
    std::optional<ModelPlan> next = recomputeMore(plan, tried->misfits, *costs,
                                                  result.plans.front().timeNs);
    if (!next || isOver(refinementEnd))
      return;
    plan = std::move(*next);
  }
}

/// Chunks on the plan's groups, and on groups of even size.
void Planner::offerFittingChunks(const ModelPlan &plan) {
  const RecomputeCosts *costs = costsOf(plan.samples);
  if (!costs)
    return;
  for (const ModelPlan &groups : {evenGroups(plan, costs->kept), plan})
    for (int32_t chunks : options.chunks)
      for (bool isV : {true, false})
        for (double slack : {0.5, 1.}) {
          if (isOver(refinementEnd) || (isV && chunks != 2))
            continue;
          if (std::optional<ModelPlan> cut =
                  inChunksThatFit(groups, *costs, {chunks, isV}, slack))
            offerUntilFitting(std::move(*cut));
        }
}

void Planner::refine() {
  for (const ModelPlan &plan : bestPlans()) {
    const Result<ChainProblem> chain =
        space.chain(plan.samples, {plan.recomputes, plan.offloads});
    for (int32_t chunks :
         options.begins.empty() ? options.chunks : std::vector<int32_t>())
      for (bool isV : {false, true}) {
        if (isOver(refinementEnd))
          return;
        if (isV && chunks != 2)
          continue;
        const auto cut = inChunks(plan, *chain, {chunks, isV});
        if (!cut)
          continue;
        // Chunks hold more than their groups: copies may make them fit.
        if (const PlanTrial *trial = offer(cut->plan); !trial || !trial->fits())
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
      if ((mayOffload() || !offloads) && !isOver(refinementEnd))
        relieve(trial, offloads);
}

/// Limits of a search in a part of the time that is left; nothing if none is.
std::optional<SearchOptions> Planner::limitsOfSearch(double part) const {
  SearchOptions chosen;
  chosen.seed = options.seed;
  chosen.effort = options.effort;
  chosen.inIndexOrder = true;
  chosen.interrupt = options.interrupt;
  chosen.timeLimitMs =
      options.deadline.exists()
          ? static_cast<int64_t>(double(options.deadline.leftMs()) * part)
          : 0;
  if (isOver() || (options.deadline.exists() && chosen.timeLimitMs == 0))
    return {};
  return chosen;
}

/// Searches a better schedule of a plan in a part of the time that is left.
void Planner::searchFor(PlanTrial &trial, double part) {
  if (const std::optional<SearchOptions> chosen = limitsOfSearch(part))
    searchOrder(trial, *chosen);
}

/// If the best plan recomputes: zigzags on groups of even size.
void Planner::searchZigzags() {
  if (result.plans.empty() || !options.begins.empty() ||
      options.recompute != RecomputeChoice::Auto)
    return;
  const PlanTrial &front = result.plans.front();
  const std::vector<bool> &again = front.laid.plan.recomputes;
  const RecomputeCosts *costs = costsOf(front.laid.plan.samples);
  if (!costs || std::find(again.begin(), again.end(), true) == again.end())
    return;
  const std::vector<ModelPlan> plans =
      zigzags(evenGroups(front.laid.plan, costs->kept), *costs, front.timeNs);
  result.tried += static_cast<int64_t>(plans.size());
  std::optional<PlanTrial> trial =
      bestSteady(space, plans, front.timeNs,
                 [&](double part) { return limitsOfSearch(part); });
  if (trial)
    insertByRank(result.plans, std::move(*trial),
                 std::mem_fn(&PlanTrial::isBetterThan));
}

void Planner::searchBest() {
  searchZigzags();
  const auto count = std::min<size_t>(options.searched, result.plans.size());
  if (hopeful && count > 0 && hopefulNs < result.plans.front().timeNs) {
    searchFor(*hopeful, 0.5);
    if (hopeful->fits())
      result.plans.push_back(std::move(*hopeful));
  }
  for (size_t k = 0; k < count; ++k)
    searchFor(result.plans[k], 1 / double(count - k));
  std::stable_sort(result.plans.begin(), result.plans.end(),
                   std::mem_fn(&PlanTrial::isBetterThan));
}

/// If devices differ, the fastest alone may be better than all together.
void Planner::offerFastest() {
  if (!options.begins.empty() || space.slowestDevices <= space.ranks ||
      options.recompute == RecomputeChoice::All)
    return;
  for (int64_t samples : microbatchSizes(space, options))
    if (!isOver())
      offer(modelPlanOf({{0, space.layers, {space.fastestRank}}}, samples,
                        /*maxReplicas=*/1, {std::vector<bool>(space.layers)}));
}

ModelPlannerResult Planner::run() {
  proposeAll();
  fitOneByOne();
  refine();
  offerFastest();
  searchBest();
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
