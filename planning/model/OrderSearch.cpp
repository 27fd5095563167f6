//===- OrderSearch.cpp - Searches of the order of a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/OrderSearch.h"

#include "planning/FittingSearch.h"
#include "planning/model/SteadyOrder.h"
#include "schedule/families/Replicas.h"

#include <limits>

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

void rondo::searchOrder(PlanTrial &trial, const SearchOptions &options) {
  SearchResult found =
      searchPlan(trial.laid.figures, trial.laid.problem, options,
                 [](const Problem &problem, const SearchOptions &ofRun) {
                   return runOnGroups(search, problem, ofRun);
                 });
  if (found.schedule)
    trial.improve(std::move(*found.schedule), "");
}

void rondo::searchSteadyOrder(PlanTrial &trial, const SearchOptions &options) {
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

double rondo::estimateSteadyNs(const LaidPlan &laid,
                               const SearchOptions &options) {
  const Result<RankGroups> groups = RankGroups::of(laid.problem);
  return groups ? steadyEstimateNs(groups->groupProblem(), options)
                : std::numeric_limits<double>::infinity();
}
