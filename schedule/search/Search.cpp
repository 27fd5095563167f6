//===- Search.cpp - Families, then the parts of the search in turn --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Arguments.h"
#include "schedule/search/CopySearch.h"
#include "schedule/search/FamilyDrafts.h"
#include "schedule/search/LessMemory.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/OrderSearch.h"
#include "schedule/search/RobustSearch.h"
#include "schedule/search/RoundRobinSearch.h"
#include "schedule/search/SearchState.h"
#include "schedule/search/UnevenSearch.h"
#include "schedule/transforms/Recomputed.h"

#include <algorithm>

using namespace rondo;

namespace {

/// From this many tasks on, writing families takes longer than waking threads.
constexpr int64_t tasksForThreads = 10000;
/// Up to this many tasks, the default effort is smaller.
constexpr int64_t smallTasks = 200;
/// Approximate tasks that the order search uses before the first turn for
/// bounds, as a multiple of the task count.
constexpr int64_t tasksBeforeBounds = 1400;
/// 1/partsForMemory of the time and effort is reserved for lowering the memory.
constexpr int64_t partsForMemory = 16;

class Searcher : SearchState {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : SearchState(problem, options) {}

  SearchResult run() {
    if (!begin(defaultEffort(tasks)))
      return std::move(result);
    budget.reserve(partsForMemory);
    for (const Schedule &start : options.starts) {
      Judged judged = judge(problem, start, options.inIndexOrder);
      budget.use(judged.steps);
      trySeed(std::move(judged), "start");
    }
    if (uses("families"))
      tryFamilies();
    if (problem.replicas.areRoundRobin()) {
      if (!isDone() || !result.schedule)
        searchRoundRobin(problem, options, result.bound.ns, budget, offering());
    } else if (!problem.hasRecomputationAcross()) {
      // The order searches do not support an R that waits for another R.
      tryGreedyOrders();
      improveBoundEarly();
      searchOrders(BackwardCosts::Split);
      if (hasCheaperBackward(problem) || hasRecomputation(problem))
        searchOrders(BackwardCosts::Fused);
    }
    // If any order fits, the one-by-one order fits, except if a graph has
    // several ends. So a limit of time or effort never makes a problem
    // infeasible.
    if (!result.schedule)
      offer(oneByOne(problem), "one-by-one");
    if (!result.schedule)
      tryFamilies(/*inAnyCase=*/true);
    keepProof();
    finish();
    budget.reserve(0);
    if (result.schedule && tasks <= replayedTasks && uses("less-memory"))
      lowerMemory(problem, options, result, budget);
    result.effort = budget.tasksUsed() / 1000;
    result.seconds = budget.seconds();
    return std::move(result);
  }

private:
  static int64_t defaultEffort(int64_t tasks) {
    return tasks <= smallTasks ? 30000000 : 200000000 + 60 * tasks;
  }

  int64_t offer(Schedule schedule, const std::string &origin) {
    return judgeAndKeep(std::move(schedule), options.inIndexOrder, origin);
  }

  Offer offering() {
    return [this](Schedule schedule, const std::string &origin) {
      return offer(std::move(schedule), origin);
    };
  }

  bool isDone() { return SearchState::isDone(3 * tasks); }

  /// Tries all families with default arguments, quick ones first, then with
  /// other arguments. `inAnyCase`: ignores the budget, and ends with the first
  /// schedule.
  void tryFamilies(bool inAnyCase = false) {
    std::vector<FamilyChoice> choices = allFamilies();
    sortQuickFirst(choices, problem);
    appendVariants(choices, problem);
    FamilyDrafts drafts(problem, std::move(choices), options.inIndexOrder);
    if (!inAnyCase && !isDone() && workers.count() > 1 &&
        tasks >= tasksForThreads && tasks <= replayedTasks)
      drafts.writeAhead(workers, budget, result.bound.ns);
    auto hasTime = [&](size_t i) {
      return drafts.isWritten(i) ||
             budget.hasTimeFor((stepsOfJudging + 1) * tasks +
                               drafts.stepsOf(i));
    };
    drafts.forEach(
        [&](size_t i) {
          return inAnyCase ? !result.schedule : !isDone() && hasTime(i);
        },
        [&](size_t i, Judged judged) {
          budget.use(drafts.stepsOf(i) + judged.steps);
          const std::string origin = drafts.choice(i).text();
          std::optional<Judged> fewer;
          if (uses("thinned"))
            fewer = drafts.takeThinned(i, judged, objective(), budget);
          trySeed(std::move(judged), origin);
          if (fewer)
            trySeed(std::move(*fewer), "thinned " + origin);
        });
  }

  void trySeed(Judged judged, const std::string &origin) {
    if (judged.schedule.numActions() > 0 &&
        judged.schedule.numActions() <= replayedTasks)
      seeds.push_back({judged.schedule, judged.objective});
    keep(std::move(judged), origin);
  }

  /// Tries greedy orders, which respect NICs, with a third of the remaining
  /// tasks.
  void tryGreedyOrders() {
    if (problem.nics.empty() || !uses("greedy") ||
        (isDone() && result.schedule))
      return;
    searchGreedily(problem, options.seed, result.bound.ns,
                   std::min(budget.tasksLeft(), budget.tasksInTime()) / 3,
                   budget, offering());
  }

  /// Records what a beam has proven by exhausting its tree. True if that ends
  /// the search. With NICs, which the beam ignores, the proof is a bound only,
  /// and its orders need not be optimal.
  bool endsSearch(const FlatProblem &flat, BackwardCosts costs,
                  Incumbent &best) {
    if (!isExact(flat, costs))
      return false;
    provenNs = best.exhaustedNs;
    best.bound = std::max(best.bound, provenNs);
    return flat.nics == 0 || best.isOptimal();
  }

  std::function<Bound()> boundToSeek() {
    if (objective() <= result.bound.ns || budget.isSpent())
      return nullptr;
    const int64_t labels = labelsForBounds(budget.tasksInTime());
    if (labels <= 0)
      return nullptr;
    return [this, ceiling = objective(), labels] {
      return bestBound(problem, ceiling, labels, options.without);
    };
  }

  /// If there is no time for all bounds, computes the one that gains most in
  /// little time.
  void improveBoundEarly() {
    if (objective() <= result.bound.ns)
      return;
    const int64_t inTime = budget.tasksInTime();
    if (std::min(budget.tasksLeft(), inTime) <= tasksBeforeBounds * tasks)
      seekPricedPaths(inTime);
  }

  void searchOrders(BackwardCosts costs) {
    // If time is up and there is no schedule, the order search still makes one.
    if (isDone() && result.schedule)
      return;
    std::optional<FlatProblem> flat = FlatProblem::of(problem, costs);
    if (!flat)
      return;
    Incumbent best;
    best.bound = result.bound.ns;
    best.onBetter = [&](int64_t found) { report(found); };
    // If the flat problem is stricter, a schedule may take longer there than in
    // the problem. Then the incumbent starts without the known objective, and
    // its schedule is always judged.
    if (costs == BackwardCosts::Split && !flat->isStricter) {
      best.objective = objective();
      if (result.schedule)
        if (auto orders = toOrders(*flat, *result.schedule))
          best.orders = std::move(*orders);
    }
    Owner owner(*this, *flat, costs, best);
    budget.keepBack(stepsOfJudging * tasks);
    OrderSearch({*flat, options, best, budget, workers}, seeds, owner).run();
    budget.keepBack(0);
    owner.keepIncumbent();
  }

  /// Whether an exhausted beam is a proof. It does not search mixtures of fused
  /// and split backwards, later first starts of a rank, links that wait while a
  /// burst of several messages could be sent, and other places of R.
  bool isExact(const FlatProblem &flat, BackwardCosts costs) const {
    return costs == BackwardCosts::Split && flat.offsetsAreExact &&
           !flat.hasLongBursts && !hasCheaperBackward(problem) &&
           !flat.isStricter;
  }

  void keepProof() {
    const char *exhausted = exhaustedOrders().name;
    if (result.schedule && provenNs > 0 && uses(exhausted))
      if (const int64_t ns = std::min(provenNs, objective());
          ns > result.bound.ns || ns == objective())
        result.bound = {ns, exhausted};
  }

  /// The owner of the order search of one flat problem.
  class Owner : public OrderSearchOwner {
  public:
    Owner(Searcher &searcher, const FlatProblem &flat, BackwardCosts costs,
          Incumbent &best)
        : searcher(searcher), flat(flat), costs(costs), best(best) {}

    void keepIncumbent() override {
      if (!best.orders.empty() &&
          (flat.isStricter || best.objective < searcher.objective()))
        searcher.offer(
            toSchedule(flat, best.orders, costs == BackwardCosts::Fused),
            best.origin);
    }
    std::function<Bound()> boundToSeek() override {
      return searcher.boundToSeek();
    }
    int64_t keepBound(const Bound &bound) override {
      searcher.keep(bound, best.objective);
      return searcher.result.bound.ns;
    }
    bool endsWithBeam() override {
      return searcher.endsSearch(flat, costs, best);
    }

  private:
    Searcher &searcher;
    const FlatProblem &flat;
    const BackwardCosts costs;
    Incumbent &best;
  };

  std::vector<Seed> seeds;
  /// Lower bound by an exhausted beam in ns; 0: none.
  int64_t provenNs = 0;
};

} // namespace

SearchResult rondo::search(const Problem &problem,
                           const SearchOptions &options) {
  if (problem.hostMemory.hasCopies() && !options.robustness)
    return searchWithCopies(problem, options);
  if (options.robustness)
    return searchRobust(problem, options);
  return problem.isUneven() ? searchUneven(problem, options)
                            : Searcher(problem, options).run();
}
