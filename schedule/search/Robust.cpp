//===- Robust.cpp - Ranks schedules by sampled times ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Candidates are the best schedule of the problem itself, those of the
// families, and the best schedules under some sampled times. All are ranked
// over a separate set of samples: a schedule made for a sample would look too
// good on it.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Family.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Portfolio.h"
#include "schedule/search/RobustSearch.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Number of samples for which a schedule is searched.
constexpr int32_t searchedSamples = 6;

struct Candidate {
  Judged judged;
  std::string origin;
};

class RobustSearch {
public:
  RobustSearch(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), tasks(problem.numTasks()),
        budget(options), scenarios(problem, *options.robustness, options.seed) {
  }

  SearchResult run() {
    SearchResult result = search(problem, shareOf(1, 2));
    if (!result.schedule)
      return result;
    candidates.push_back(
        {{*result.schedule, std::move(result.simulation)}, result.origin});
    budget.use(result.effort * 1000);
    tryFamilies();
    searchSamples(result);
    std::stable_sort(candidates.begin() + 1, candidates.end(),
                     [&](const Candidate &a, const Candidate &b) {
                       return a.judged.objective < b.judged.objective;
                     });
    size_t chosen = rank(result);
    result.simulation = std::move(candidates[chosen].judged.simulation);
    result.schedule = std::move(candidates[chosen].judged.schedule);
    result.origin = candidates[chosen].origin;
    result.provenOptimal =
        objectiveOf(problem, result.simulation) <= result.bound.ns;
    result.effort = budget.tasksUsed() / 1000;
    result.seconds = budget.seconds();
    return result;
  }

private:
  /// Options of a search with `part`/`whole` of the time and effort.
  SearchOptions shareOf(int64_t part, int64_t whole) const {
    SearchOptions share = options;
    share.robustness.reset();
    share.starts.clear();
    share.known = {};
    share.observer = nullptr;
    if (options.timeLimitMs > 0)
      share.timeLimitMs =
          std::max<int64_t>(1, options.timeLimitMs * part / whole);
    if (options.effort > 0)
      share.effort = std::max<int64_t>(1, options.effort * part / whole);
    return share;
  }

  /// Adds a schedule to the candidates if it is legal.
  void add(Judged judged, const std::string &origin) {
    budget.use(judged.schedule.numActions());
    if (judged.isLegal())
      candidates.push_back({std::move(judged), origin});
  }

  void tryFamilies() {
    Portfolio families(problem, allFamilies(),
                       Portfolio::byOptions(problem, options));
    families.forEach(
        [&](size_t i) {
          return budget.hasTimeFor(3 * tasks + families.stepsOf(i));
        },
        [&](size_t i, Judged judged) {
          add(std::move(judged), families.choice(i).text());
        });
  }

  /// Searches schedules under sampled times. Leaves an eighth of the time for
  /// ranking, and at least the time to rank two candidates.
  void searchSamples(SearchResult &result) {
    Robustness robustness = *options.robustness;
    robustness.samples = searchedSamples;
    const Scenarios searched(problem, robustness, ~options.seed);
    for (size_t i = 0; i < searched.size(); ++i) {
      const bool isLate =
          (options.timeLimitMs > 0 &&
           budget.seconds() * 1000 > 0.8 * double(options.timeLimitMs)) ||
          !budget.hasTimeFor(2 * int64_t(scenarios.size()) * tasks);
      if (isLate || budget.isSpent(3 * tasks))
        return;
      SearchResult found = search(searched[i], shareOf(3, 8 * searchedSamples));
      budget.use(found.effort * 1000);
      if (found.stop == SearchStop::Interrupted)
        result.stop = found.stop;
      if (found.schedule)
        add(judge(problem, std::move(*found.schedule), options), found.origin);
    }
  }

  /// Number of candidates that can be run over all samples in time; at least
  /// two, if there are two, which may then see fewer samples.
  size_t numRanked() const {
    const int64_t fit =
        budget.tasksInTime() / tasks / int64_t(scenarios.size());
    return size_t(
        std::min(int64_t(candidates.size()), std::max<int64_t>(fit, 2)));
  }

  /// The index of the best candidate; sets the statistic of `result`. All
  /// candidates see the same samples: as many as time allows, at least one.
  size_t rank(SearchResult &result) {
    std::vector<std::vector<int64_t>> objectives(numRanked());
    for (size_t i = 0; i < scenarios.size(); ++i)
      for (size_t c = 0; c < objectives.size(); ++c) {
        if (budget.isSpent(tasks) && (i > 0 || c > 0)) {
          if (budget.stop() != SearchStop::Exhausted)
            result.stop = budget.stop();
          return choose(objectives, result);
        }
        objectives[c].push_back(objectiveOf(
            problem, simulate(scenarios[i], candidates[c].judged.schedule)));
        budget.use(tasks);
      }
    return choose(objectives, result);
  }

  /// Compares candidates over the samples that all have seen. If no sample has
  /// been seen by all, only the first candidate, which has seen one, counts.
  size_t choose(std::vector<std::vector<int64_t>> &objectives,
                SearchResult &result) const {
    if (objectives.back().empty())
      objectives.resize(1);
    size_t chosen = 0;
    result.robustSamples = static_cast<int32_t>(objectives.back().size());
    for (size_t c = 0; c < objectives.size(); ++c) {
      objectives[c].resize(objectives.back().size());
      const int64_t value = scenarios.statisticOf(std::move(objectives[c]));
      if (!result.robustNs || value < *result.robustNs) {
        result.robustNs = value;
        chosen = c;
      }
    }
    return chosen;
  }

  const Problem &problem;
  const SearchOptions &options;
  const int64_t tasks;
  Budget budget;
  Scenarios scenarios;
  /// The first candidate is that of the problem itself.
  std::vector<Candidate> candidates;
};

} // namespace

SearchResult rondo::searchRobust(const Problem &problem,
                                 const SearchOptions &options) {
  return RobustSearch(problem, options).run();
}
