//===- ScheduledPlanner.cpp - A plan and its schedule ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/ScheduledPlanner.h"

#include "planning/RunLimits.h"
#include "planning/chain/Baselines.h"
#include "planning/chain/FewestDevices.h"
#include "planning/chain/StartPlans.h"
#include "planning/scheduled/PlanSteps.h"
#include "planning/scheduled/ScheduledBound.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Parts of the time limit: for each call of planChain(), for the end of each
/// step, and for each search of an order.
constexpr double chainPart = 0.12, startsEnd = 0.4, boundEnd = 0.55,
                 descentsEnd = 0.75, searchPart = 0.06;
/// Maximum number of plans from which changes begin.
constexpr size_t maxStarts = 4;
/// Plans judged per unit of effort.
constexpr int64_t judgedPerEffort = 20;
/// Up to this many micro-batches times devices, all families judge each change.
constexpr int64_t maxTried = 64;
/// Samples per micro-batch in a problem for which planChain() models messages
/// as replicas exchange them; many numbers of devices divide it.
constexpr int64_t manySamples = 5040;

/// The problem with one micro-batch: every plan that fits with some order of
/// the full problem fits it.
ChainProblem oneUnderWay(const ChainProblem &problem) {
  ChainProblem one = problem;
  one.microbatches = 1;
  return one;
}

class Planner {
public:
  Planner(const ChainProblem &problem, const ChainPlannerOptions &options)
      : problem(problem), options(options),
        limits(Deadline(options.timeLimitMs, options.clock), options.interrupt),
        effort(options.statedEffort()),
        usual(int64_t(problem.microbatches) * problem.numDevices() <= maxTried
                  ? FamilyEffort::All
                  : FamilyEffort::Few),
        judge(problem), steps(problem, options.seed), lower(problem) {}

  ScheduledPlannerResult run();

private:
  bool isOver(double part = 1) const { return limits.isOver(part); }
  bool isProven() const { return !plans.empty() && best().timeNs <= bound; }
  bool isSpent(double part = 1) const {
    return isProven() || isOver(part) ||
           judge.plansJudged() >= judgedPerEffort * effort;
  }
  const ScheduledPlan &best() const { return plans.front(); }
  /// Judges a plan and keeps it if it is among the best.
  void offer(const ChainPlan &plan);
  void keep(ScheduledPlan plan);
  void offerChain(const ChainProblem &chain, PlanEvaluator evaluator);
  void startPlans();
  bool descend(ScheduledPlan &plan, const StageOrders *known, double until);
  bool searchOrder(ScheduledPlan &plan);
  void findBound();
  void takeTurns();
  void shake();

  const ChainProblem &problem;
  const ChainPlannerOptions &options;
  const RunLimits limits;
  const int64_t effort;
  /// All for small problems (maxTried), else Few.
  const FamilyEffort usual;
  PlanJudge judge;
  PlanSteps steps;
  ScheduledBound lower;
  int64_t bound = 0;
  /// The best plans found, best first.
  std::vector<ScheduledPlan> plans;
  /// Plans of planChain(), whose orders are searched in any case.
  std::vector<ChainPlan> proposals;
};

void Planner::keep(ScheduledPlan plan) {
  for (ScheduledPlan &known : plans)
    if (known.plan == plan.plan) {
      if (plan.timeNs < known.timeNs)
        known = std::move(plan);
      std::stable_sort(plans.begin(), plans.end(), isFaster);
      return;
    }
  insertByRank(plans, std::move(plan), isFaster, maxStarts);
}

void Planner::offer(const ChainPlan &plan) {
  if (std::optional<ScheduledPlan> found = judge.judge(plan, usual))
    keep(std::move(*found));
}

void Planner::offerChain(const ChainProblem &chain, PlanEvaluator evaluator) {
  if (limits.isInterrupted())
    return;
  ChainPlannerOptions chosen = options;
  chosen.evaluator = evaluator;
  chosen.timeLimitMs = Deadline::partMs(options.timeLimitMs, chainPart);
  const ChainPlannerResult found = planChain(chain, chosen);
  if (!found.plan)
    return;
  offer(*found.plan);
  proposals.push_back(*found.plan);
}

/// Finds the first plans; at least one, unless no plan can be simulated.
void Planner::startPlans() {
  offerChain(problem, PlanEvaluator::OneFOneB);
  offerChain(problem, PlanEvaluator::SppFullDuplex);
  ChainProblem whole = problem;
  whole.samples = manySamples;
  offerChain(whole, PlanEvaluator::OneFOneB);
  const std::vector<int32_t> order = deviceOrders(problem).front();
  for (const ChainPlan &plan : evenPlans(problem, order))
    if (!isOver(startsEnd))
      offer(plan);
  offerQuickPlans(
      problem, PlanEvaluator::OneFOneB, [&] { return isOver(startsEnd); },
      [&](const ChainPlan &plan) { offer(plan); });
  offer({{0, problem.numLayers(), {order.front()}}});
  for (const ChainPlan &plan : fittingPlans(
           oneUnderWay(problem), problem.smallestDeviceBytes(), {order}))
    offer(plan);
}

bool Planner::descend(ScheduledPlan &plan, const StageOrders *known,
                      double until) {
  return steps.descend(
      plan,
      [&](const ChainPlan &changed, int64_t ceilingNs) {
        return judge.judge(changed, usual, ceilingNs, known);
      },
      [&] { return isSpent(until); });
}

bool Planner::searchOrder(ScheduledPlan &plan) {
  bool isBetter = false;
  if (std::optional<ScheduledPlan> found =
          judge.judge(plan.plan, FamilyEffort::All, plan.timeNs)) {
    plan = std::move(*found);
    isBetter = true;
  }
  if (isOver())
    return isBetter;
  SearchOptions chosen = orderSearchOptions(options);
  if (limits.deadline.exists())
    chosen.timeLimitMs =
        std::clamp<int64_t>(limits.deadline.leftMs(), 1, chosen.timeLimitMs);
  return judge.search(plan, chosen) || isBetter;
}

/// The first call finds a bound below the best time. Later calls only check
/// whether the best plan is optimal, since find() ends slightly below the true
/// bound.
void Planner::findBound() {
  if (bound == 0)
    bound = lower.find(best().timeNs, [&] { return isOver(boundEnd); });
  else if (!isProven() && !isOver() &&
           !lower.mayTake(best().timeNs - 1, [&] { return isOver(); }))
    bound = best().timeNs;
}

/// Searches orders of the best plans, then improves the best plan under its
/// order, in turns until neither lowers the time.
void Planner::takeTurns() {
  for (const ChainPlan &proposal : proposals) {
    if (isOver() || isProven())
      return;
    if (std::optional<ScheduledPlan> plan = judge.judge(proposal, usual)) {
      searchOrder(*plan);
      keep(std::move(*plan));
    }
  }
  for (int64_t before = infinite;
       best().timeNs < before && !isOver() && !isProven();) {
    before = best().timeNs;
    // The two best plans.
    for (size_t k = 0; k < std::min<size_t>(2, plans.size()); ++k) {
      ScheduledPlan plan = plans[k];
      searchOrder(plan);
      keep(std::move(plan));
    }
    ScheduledPlan plan = best();
    const StageOrders known = plan.orders();
    descend(plan, &known, 1);
    keep(std::move(plan));
  }
}

/// Changes the best plan at random and improves the result, until the budget is
/// spent.
void Planner::shake() {
  for (int64_t tries = 0; !isSpent() && tries < judgedPerEffort * effort;
       ++tries) {
    const StageOrders known = best().orders();
    std::optional<ScheduledPlan> plan =
        judge.judge(steps.shaken(best().plan), usual, infinite, &known);
    if (!plan)
      continue;
    const int64_t before = best().timeNs;
    descend(*plan, &known, 1);
    keep(std::move(*plan));
    if (best().timeNs < before) {
      takeTurns();
      findBound();
    }
  }
}

ScheduledPlannerResult Planner::run() {
  ScheduledPlannerResult result;
  startPlans();
  if (plans.empty()) {
    // Report the failure of the one-stage plan.
    const ChainPlan one = {{0, problem.numLayers(), {0}}};
    Result<Problem> made = planProblem(problem, one);
    if (!made)
      result.found.fault = std::move(made.fault());
    else
      result.found.fault = makeFault<FaultKind::NothingFits>();
    return result;
  }
  findBound();
  for (ScheduledPlan plan : std::vector<ScheduledPlan>(plans)) {
    descend(plan, nullptr, descentsEnd);
    keep(std::move(plan));
  }
  takeTurns();
  findBound();
  shake();
  ChainPlannerResult &found = result.found;
  found.plan = best().plan;
  found.timeNs = best().timeNs;
  found.memoryBytes = best().memoryBytes;
  found.lowerBoundNs = std::min(bound, best().timeNs);
  found.plansTried = judge.plansJudged();
  found.stop = limits.stop(isProven());
  result.scheduled = std::move(plans.front());
  return result;
}

} // namespace

SearchOptions rondo::orderSearchOptions(const ChainPlannerOptions &options) {
  SearchOptions chosen;
  chosen.seed = options.seed;
  chosen.effort = options.statedEffort();
  chosen.timeLimitMs = Deadline::partMs(options.timeLimitMs, searchPart);
  chosen.clock = options.clock;
  chosen.interrupt = options.interrupt;
  return chosen;
}

/// Why the problem has no plan, or none that can be simulated.
static std::optional<Fault> findFault(const ChainProblem &problem) {
  if (int64_t(problem.microbatches) * problem.numDevices() > maxScheduledTasks)
    return makeFault<FaultKind::ManyTasksToSchedule>(
        problem.microbatches, problem.numDevices(), maxScheduledTasks);
  return findMemoryFault(oneUnderWay(problem));
}

ScheduledPlannerResult
rondo::planScheduled(const ChainProblem &problem,
                     const ChainPlannerOptions &options) {
  ScheduledPlannerResult result;
  result.found.fault = findFault(problem);
  if (result.found.fault)
    return result;
  return Planner(problem, options).run();
}
