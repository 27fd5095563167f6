//===- FittingSearch.cpp - Schedules whose programs fit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FittingSearch.h"

#include "planning/Deadline.h"
#include "planning/FitLoop.h"
#include "planning/ShardedSearch.h"
#include "planning/Tightening.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Portfolio.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

namespace rondo {

bool mayOverflow(const PlanFigures &plan, const Problem &problem) {
  // Upper bound of each arena: every transient buffer of every micro-batch at
  // once, plus the state.
  constexpr double alignment = bufferAlignment;
  std::vector<double> most(problem.numRanks());
  for (size_t rank = 0; rank < plan.stagingBytes.size(); ++rank)
    most[rank] = double(plan.stagingBytes[rank]) + alignment;
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (const BufferTraits &traits : bufferTable)
      most[problem.rankOf(h)] +=
          (double(plan.buffers[h][int(traits.kind)]) + alignment) *
          (traits.slotPer == SlotPer::Microbatch ? problem.microbatches : 1);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (plan.devices[rank] != noMemoryCap &&
        most[rank] > double(plan.devices[rank]))
      return true;
  return false;
}

void keepBetter(const Problem &problem, std::optional<SearchResult> &kept,
                SearchResult result) {
  if (!kept) {
    kept = std::move(result);
    return;
  }
  Bound best = kept->bound.ns < result.bound.ns ? result.bound : kept->bound;
  auto value = [&](const SearchResult &found) {
    return found.robustNs ? *found.robustNs
                          : objectiveOf(problem, found.simulation);
  };
  if (value(result) < value(*kept))
    kept = std::move(result);
  kept->bound = best;
  kept->provenOptimal = objectiveOf(problem, kept->simulation) <= best.ns;
}

namespace {

/// The number of attempts that share a budget. An attempt with less work per
/// task than these constants finds little, and caps that follow from a poor
/// schedule are too low.
int64_t attemptsOf(const SearchOptions &share, const Problem &problem) {
  constexpr int64_t stepsOfTask = 300, nsOfTask = 5000;
  const int64_t tasks = problem.numTasks();
  int64_t attempts = 4;
  if (share.effort > 0)
    attempts =
        std::min(attempts, share.effort / (1 + tasks * stepsOfTask / 1000));
  if (share.timeLimitMs > 0)
    attempts = std::min(attempts,
                        share.timeLimitMs / (1 + tasks * nsOfTask / 1000000));
  return std::max<int64_t>(2, attempts);
}

/// Whether the programs of some schedule may not run on the plan's devices.
bool mayFail(const PlanFigures &plan, const Problem &problem,
             bool limitsArenas) {
  return mayBlock(plan, problem) ||
         (limitsArenas && mayOverflow(plan, problem));
}

/// The orders whose programs are tried before a search: its starts, and those
/// of families.
class FixedOrders {
public:
  FixedOrders(const FittingSearch &search, const SearchOptions &options,
              const Deadline &limit)
      : search(search), options(options), limit(limit) {}

  /// The best order that fits; nothing if none does, or if the caller gives up.
  std::optional<SearchResult> run() {
    for (const Schedule &start : options.starts)
      if (const Judged judged = judgeOrder(start); judged.isLegal())
        orders.push_back({&start, FamilyChoice(), judged.objective});
    judgeFamilies();
    std::stable_sort(orders.begin(), orders.end(),
                     [](const Order &a, const Order &b) {
                       return a.objective < b.objective;
                     });
    for (const Order &order : orders) {
      if (mayStop())
        return std::nullopt;
      if (order.start) {
        if (auto fitting = fit(*order.start, "start"))
          return fitting;
        continue;
      }
      FamilyResult made = generate(order.choice, search.problem);
      if (auto fitting = fit(*std::move(made), order.choice.text()))
        return fitting;
    }
    return fit(oneByOne(search.problem), "one-by-one");
  }

private:
  struct Order {
    /// One of `options.starts`; null: the order that the family writes.
    const Schedule *start;
    FamilyChoice choice;
    int64_t objective;
  };

  bool mayStop() const { return limit.isOver() && search.mayGiveUp(); }

  Judged judgeOrder(Schedule schedule) const {
    return judge(search.problem, std::move(schedule), options);
  }

  /// Judges the schedules of all families, the quick families first. Keeps only
  /// their objectives, since the schedules together may take much memory; run()
  /// writes them again.
  void judgeFamilies() {
    std::vector<FamilyChoice> choices = allFamilies();
    appendVariants(choices, search.problem);
    appendCopies(choices, search.problem);
    sortQuickFirst(choices, search.problem);
    Portfolio families(search.problem, std::move(choices),
                       Portfolio::byOptions(search.problem, options));
    families.forEach([&](size_t) { return !mayStop() && !limit.isOver(0.25); },
                     [&](size_t i, const Judged &judged) {
                       if (judged.isLegal())
                         orders.push_back(
                             {nullptr, families.choice(i), judged.objective});
                     });
  }

  std::optional<SearchResult> fit(Schedule schedule, std::string origin) const {
    Judged judged = judgeOrder(std::move(schedule));
    if (!judged.isLegal() || findLack(search, judged.schedule))
      return std::nullopt;
    SearchResult result;
    result.bound = search.bound;
    result.provenOptimal = judged.objective <= result.bound.ns;
    result.schedule = std::move(judged.schedule);
    result.simulation = std::move(judged.simulation);
    result.origin = std::move(origin);
    return result;
  }

  const FittingSearch &search;
  const SearchOptions &options;
  const Deadline &limit;
  std::vector<Order> orders;
};

/// One run of searchFitting().
class Fitter {
public:
  Fitter(const FittingSearch &search, const SearchOptions &options)
      : search(search), options(options), tightened(search.tightened),
        limit(options.timeLimitMs, options.clock), bound(search.bound),
        effortLeft(options.effort) {}

  SearchResult run() {
    if (std::optional<Fault> shortfall = findShortfall(search.problem))
      return none(std::move(shortfall));
    // `devices` describes the plan's own caps, which lowered caps do not match.
    tightened.devices.clear();
    if (search.limitsArenas)
      countKeptInputs(search);
    attempts = attemptsOf(options, tightened);
    isLast = !mayFail(search.plan, search.problem, search.limitsArenas);
    if (!isLast && search.triesFamilies)
      fixed = FixedOrders(search, options, limit).run();
    Caps fitting = tightened.memoryCaps;
    // Until an order fits, each of the last attempts takes half of the
    // remaining budget.
    constexpr int64_t maxAttempts = 12;
    lowerUntilFitting(
        tightened.memoryCaps, maxAttempts,
        [&](int64_t number) {
          // Lowering programs takes time that the limits of the searches do not
          // count.
          const bool isEnough =
              found || search.mayGiveUp() || (fixed && number >= attempts);
          return limit.isOver() && isEnough;
        },
        [&](int64_t number, const Caps &caps) {
          return attempt(number, caps, fitting);
        });
    if (found)
      tightened.memoryCaps = std::move(fitting);
    // With `options.robustness`, results are compared by `robustNs`, which
    // `fixed` lacks. Then `fixed` is used only if the search found nothing.
    if (fixed && (!found || !options.robustness))
      keepBetter(search.problem, found, std::move(*fixed));
    return found ? finish() : noneFits();
  }

private:
  using Caps = std::vector<int64_t>;

  SearchOptions shareOf(int64_t number) {
    const int64_t parts = isLast ? 1 : std::max<int64_t>(attempts - number, 2);
    SearchOptions share = options;
    if (options.effort > 0) {
      share.effort = std::max<int64_t>(1, effortLeft / parts);
      effortLeft -= share.effort;
    }
    if (options.timeLimitMs > 0)
      share.timeLimitMs = std::max<int64_t>(1, limit.leftMs() / parts);
    return share;
  }

  /// Searches under `caps`, and sets `fitting` to them if the result fits.
  /// Returns the caps of the next attempt, or nothing to end.
  std::optional<Caps> attempt(int64_t number, const Caps &caps, Caps &fitting) {
    SearchResult result = search.run(tightened, shareOf(number));
    effort += result.effort;
    seconds += result.seconds;
    stop = result.stop;
    if (!result.schedule) {
      fault = result.fault;
      return std::nullopt;
    }
    const bool isOptimal = result.provenOptimal;
    // A bound under lowered caps does not hold for the plan.
    if (caps != search.problem.memoryCaps)
      result.bound = bound;
    else if (result.bound.ns > bound.ns)
      bound = result.bound;
    const std::optional<Lack> lack = findLack(search, *result.schedule);
    missing = lack ? std::optional(lack->fault) : std::nullopt;
    if (lack)
      lowerCaps(search, *result.schedule, *lack, 1 + number / 2);
    // Simulate with the plan's own costs.
    checkAndSimulate(search.problem, *result.schedule, result.simulation);
    bool isOver = isLast || (lack && tightened.memoryCaps == caps);
    if (!lack) {
      fitting = caps;
      keepBetter(search.problem, found, std::move(result));
      isOver |= isOptimal;
      // The remaining budget goes to a search under the caps that fit.
      isLast = true;
    }
    if (isOver || (options.interrupt && *options.interrupt))
      return std::nullopt;
    return tightened.memoryCaps;
  }

  SearchResult finish() {
    found->bound = bound.ns > found->bound.ns ? bound : found->bound;
    found->provenOptimal =
        objectiveOf(search.problem, found->simulation) <= found->bound.ns;
    found->effort = effort;
    found->seconds = seconds;
    found->stop = found->provenOptimal ? SearchStop::Optimal : stop;
    return std::move(*found);
  }

  SearchResult none(std::optional<Fault> why) const {
    SearchResult result;
    result.bound = bound;
    result.fault = std::move(why);
    return result;
  }

  SearchResult noneFits() const {
    if (search.limitsArenas &&
        (!missing || missing->kind == FaultKind::NoProgramFits))
      if (std::optional<Fault> lack = lackOfOneByOne(search))
        return none(std::move(lack));
    return none(missing ? missing : fault);
  }

  const FittingSearch &search;
  const SearchOptions &options;
  Problem &tightened;
  const Deadline limit;
  Bound bound;
  int64_t effortLeft, effort = 0, attempts = 0;
  double seconds = 0;
  SearchStop stop = SearchStop::Exhausted;
  /// The best results that fit: `found` by searches, `fixed` among FixedOrders.
  std::optional<SearchResult> found, fixed;
  /// `missing`: why programs of the last schedule do not run. `fault`: why the
  /// last search found no schedule.
  std::optional<Fault> missing, fault;
  /// Whether the next attempt gets the remaining budget: every program fits, or
  /// an order that fits has been found.
  bool isLast = false;
};

} // namespace

SearchResult searchFitting(const FittingSearch &search,
                           const SearchOptions &options) {
  return Fitter(search, options).run();
}

SearchResult searchPlan(const PlanFigures &plan, const Problem &problem,
                        const SearchOptions &options, const RunSearch &run,
                        bool limitsArenas) {
  if (problem.replicas.areSharded())
    return searchSharded(plan, problem, options, run);
  limitsArenas |= plan.declaresWeights;
  if (!mayFail(plan, problem, limitsArenas))
    return run(problem, options);
  Problem tightened = problem;
  FittingSearch fitting{plan,      problem, roughBound(problem),
                        tightened, run,     /*mayGiveUp=*/[] { return false; }};
  fitting.limitsArenas = limitsArenas;
  return searchFitting(fitting, options);
}

} // namespace rondo
