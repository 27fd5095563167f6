//===- FittingSearch.cpp - Schedules whose programs fit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FittingSearch.h"

#include "planning/Deadline.h"
#include "planning/ShardedSearch.h"
#include "planning/Tightening.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

namespace rondo {

bool mayOverflow(const PlanFigures &plan, const Problem &problem) {
  // Every transient buffer of every micro-batch at once, beside the state.
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

int64_t tasksOf(const Problem &problem) {
  return int64_t(3) * problem.numStages() * problem.microbatches;
}

/// How many attempts share a budget: an attempt with less than about this much
/// work for each task finds little, and caps that follow from a poor schedule
/// are too low.
int64_t attemptsOf(const SearchOptions &share, const Problem &problem) {
  constexpr int64_t stepsOfTask = 300, nsOfTask = 5000;
  const int64_t tasks = tasksOf(problem);
  int64_t attempts = 4;
  if (share.effort > 0)
    attempts =
        std::min(attempts, share.effort / (1 + tasks * stepsOfTask / 1000));
  if (share.timeLimitMs > 0)
    attempts = std::min(attempts,
                        share.timeLimitMs / (1 + tasks * nsOfTask / 1000000));
  return std::max<int64_t>(2, attempts);
}

/// Whether programs of some schedule may not run on the plan's devices.
bool mayFail(const PlanFigures &plan, const Problem &problem,
             bool limitsArenas) {
  return mayBlock(plan, problem) ||
         (limitsArenas && mayOverflow(plan, problem));
}

/// The orders that a search starts from and those that follow from rules alone;
/// their programs are tried.
class FixedOrders {
public:
  FixedOrders(const FittingSearch &search, const SearchOptions &options,
              const Deadline &limit)
      : search(search), options(options), limit(limit) {}

  /// The best that fits; nothing where none does, or where the caller gives up.
  std::optional<SearchResult> run() {
    for (const Schedule &start : options.starts)
      if (Simulation simulation; isLegal(start, simulation))
        orders.push_back(
            {&start, FamilyChoice(), objectiveOf(search.problem, simulation)});
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
    /// A start of the options; null: the order that the family writes.
    const Schedule *start;
    FamilyChoice choice;
    int64_t objective;
  };

  bool mayStop() const { return limit.isOver() && search.mayGiveUp(); }

  /// Those that keep the rules, quick ones first.
  void judgeFamilies() {
    std::vector<FamilyChoice> choices = allFamilies();
    for (FamilyChoice &variant : familyVariants(search.problem))
      choices.push_back(std::move(variant));
    std::stable_sort(choices.begin(), choices.end(),
                     [&](const FamilyChoice &a, const FamilyChoice &b) {
                       return a.family->stepsBeyondTasks(search.problem) <
                              b.family->stepsBeyondTasks(search.problem);
                     });
    for (const FamilyChoice &choice : choices) {
      if (mayStop() || limit.isOver(0.25))
        return;
      FamilyResult made = generate(choice, search.problem);
      Simulation simulation;
      if (made && isLegal(*made, simulation))
        orders.push_back(
            {nullptr, choice, objectiveOf(search.problem, simulation)});
    }
  }

  bool isLegal(const Schedule &schedule, Simulation &simulation) const {
    return !checkAndSimulate(search.problem, schedule, simulation) &&
           !(options.inIndexOrder &&
             checkAccumulation(search.problem, schedule));
  }

  std::optional<SearchResult> fit(Schedule schedule, std::string origin) const {
    SearchResult result;
    if (!isLegal(schedule, result.simulation) || findLack(search, schedule))
      return std::nullopt;
    result.bound = search.bound;
    result.provenOptimal =
        objectiveOf(search.problem, result.simulation) <= result.bound.ns;
    result.schedule = std::move(schedule);
    result.origin = std::move(origin);
    return result;
  }

  const FittingSearch &search;
  const SearchOptions &options;
  const Deadline &limit;
  std::vector<Order> orders;
};

} // namespace

SearchResult searchFitting(const FittingSearch &search,
                           const SearchOptions &options) {
  Problem &tightened = search.tightened;
  SearchResult none;
  none.bound = search.bound;
  none.fault = findShortfall(search.problem);
  if (none.fault)
    return none;
  // Lowered caps are not what the state leaves of a device.
  tightened.devices.clear();
  if (search.limitsArenas)
    countKeptInputs(search);
  const Deadline limit(options.timeLimitMs, options.clock);
  const int64_t attempts = attemptsOf(options, tightened);
  // Until something has fitted, each of the last attempts takes half of what is
  // left.
  constexpr int64_t maxAttempts = 12;
  // The last caps under which something fitted, if anything has.
  std::vector<int64_t> fitting = tightened.memoryCaps;
  std::optional<SearchResult> found, fixed;
  int64_t effort = 0;
  double seconds = 0;
  SearchStop stop = SearchStop::Exhausted;
  Bound bound = search.bound;
  std::optional<Fault> missing, fault;
  int64_t effortLeft = options.effort;
  bool fits = !mayFail(search.plan, search.problem, search.limitsArenas);
  if (!fits && search.triesFamilies)
    fixed = FixedOrders(search, options, limit).run();
  for (int64_t attempt = 0; attempt < maxAttempts; ++attempt) {
    // Checking whether a program fits takes time too.
    const bool isEnough =
        found || search.mayGiveUp() || (fixed && attempt >= attempts);
    if (attempt > 0 && limit.isOver() && isEnough)
      break;
    const int64_t parts = fits ? 1 : std::max<int64_t>(attempts - attempt, 2);
    SearchOptions now = options;
    if (options.effort > 0) {
      now.effort = std::max<int64_t>(1, effortLeft / parts);
      effortLeft -= now.effort;
    }
    if (options.timeLimitMs > 0)
      now.timeLimitMs = std::max<int64_t>(1, limit.leftMs() / parts);
    const std::vector<int64_t> caps = tightened.memoryCaps;
    SearchResult result = search.run(tightened, now);
    effort += result.effort;
    seconds += result.seconds;
    stop = result.stop;
    if (!result.schedule) {
      fault = result.fault;
      break;
    }
    const bool isOptimal = result.provenOptimal;
    // A bound under lowered caps does not hold for the plan.
    if (caps != search.problem.memoryCaps) {
      result.bound = bound;
      result.provenOptimal =
          objectiveOf(search.problem, result.simulation) <= bound.ns;
    } else if (result.bound.ns > bound.ns) {
      bound = result.bound;
    }
    const std::optional<Lack> lack = findLack(search, *result.schedule);
    missing = lack ? std::optional(lack->fault) : std::nullopt;
    if (lack)
      lowerCaps(search, *result.schedule, *lack, 1 + attempt / 2);
    // The result has the plan's own costs.
    checkAndSimulate(search.problem, *result.schedule, result.simulation);
    if (!missing) {
      fitting = caps;
      keepBetter(search.problem, found, std::move(result));
      if (fits || isOptimal)
        break;
      fits = true;
    } else if (fits || tightened.memoryCaps == caps) {
      break;
    }
    if (options.interrupt && *options.interrupt)
      break;
  }
  if (found)
    tightened.memoryCaps = fitting;
  // Only searched orders have a robust figure.
  if (fixed && (!found || !options.robustness))
    keepBetter(search.problem, found, std::move(*fixed));
  if (found) {
    found->bound = bound.ns > found->bound.ns ? bound : found->bound;
    found->provenOptimal =
        objectiveOf(search.problem, found->simulation) <= found->bound.ns;
    found->effort = effort;
    found->seconds = seconds;
    found->stop = found->provenOptimal ? SearchStop::Optimal : stop;
    return std::move(*found);
  }
  none.bound = bound;
  none.fault = missing ? missing : fault;
  if (search.limitsArenas &&
      (!missing || missing->kind == FaultKind::NoProgramFits))
    if (std::optional<Fault> lack = lackOfOneByOne(search))
      none.fault = std::move(lack);
  return none;
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
  return searchFitting({plan, problem, roughBound(problem), tightened, run,
                        /*mayGiveUp=*/[] { return false; },
                        /*triesFamilies=*/true, limitsArenas},
                       options);
}

} // namespace rondo
