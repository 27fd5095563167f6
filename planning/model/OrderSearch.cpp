//===- OrderSearch.cpp - Searches of the order of a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/OrderSearch.h"

#include "planning/FittingSearch.h"
#include "planning/model/SteadyOrder.h"
#include "schedule/families/Replicas.h"

using namespace rondo;

/// Runs a search on the groups of a problem.
static SearchResult runOnGroups(const RunSearch &run, const Problem &problem,
                                const SearchOptions &options) {
  if (!RankGroups::areNeeded(problem))
    return run(problem, options);
  const Result<RankGroups> groups = RankGroups::of(problem);
  if (!groups)
    return run(problem, options);
  SearchResult found = run(groups->groupProblem(), options);
  if (found.schedule)
    found.schedule = groups->spread(*found.schedule);
  // Ranks of a group in orders of their own could be faster.
  found.bound = Bound();
  return found;
}

void rondo::searchOrder(PlanTrial &trial, const SearchOptions &limits) {
  SearchOptions options = limits;
  // Problems of groups have no copies.
  if (trial.fits() && trial.schedule->hasCopies() &&
      !RankGroups::areNeeded(trial.laid.problem))
    options.starts.push_back(*trial.schedule);
  SearchResult found =
      searchPlan(trial.laid.figures, trial.laid.problem, options,
                 [](const Problem &problem, const SearchOptions &ofRun) {
                   return runOnGroups(search, problem, ofRun);
                 });
  if (found.schedule)
    trial.improve(std::move(*found.schedule), "");
}

/// Searches an order that repeats each period and fits the devices.
static void searchSteadyOrder(PlanTrial &trial, const SearchOptions &options) {
  Problem tightened = trial.laid.problem;
  uint64_t seed = options.seed;
  FittingSearch fitting{trial.laid.figures,
                        trial.laid.problem,
                        Bound(),
                        tightened,
                        [&](const Problem &problem, SearchOptions ofRun) {
                          // Another search with the same caps tries other
                          // timetables.
                          ofRun.seed = seed++;
                          return runOnGroups(searchSteady, problem, ofRun);
                        },
                        /*mayGiveUp=*/[] { return true; }};
  fitting.triesFamilies = false;
  SearchResult found = searchFitting(fitting, options);
  if (found.schedule)
    trial.improve(std::move(*found.schedule), "");
}

std::optional<PlanTrial> rondo::bestSteady(const ModelSpace &space,
                                           const std::vector<ModelPlan> &plans,
                                           int64_t ceilingNs,
                                           const LimitsOfSearch &limits) {
  std::optional<PlanTrial> best;
  auto leastNs = double(ceilingNs);
  for (const ModelPlan &plan : plans) {
    const std::optional<SearchOptions> ofEstimate = limits(0.1);
    if (!ofEstimate)
      return {};
    Result<LaidPlan> laid = space.make(plan);
    if (!laid)
      continue;
    const Result<RankGroups> groups = RankGroups::of(laid->problem);
    if (!groups)
      continue;
    const double ns = steadyEstimateNs(groups->groupProblem(), *ofEstimate);
    if (ns >= leastNs)
      continue;
    leastNs = ns;
    best.emplace();
    best->laid = std::move(*laid);
  }
  const std::optional<SearchOptions> ofSearch = limits(0.5);
  if (!best || !ofSearch)
    return {};
  searchSteadyOrder(*best, *ofSearch);
  if (!best->fits())
    return {};
  return best;
}
