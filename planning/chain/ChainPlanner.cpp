//===- ChainPlanner.cpp - Finds a plan for a chain of layers --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ChainPlanner.h"

#include "planning/RunLimits.h"
#include "planning/chain/Baselines.h"
#include "planning/chain/DeviceOrder.h"
#include "planning/chain/ExactPlans.h"
#include "planning/chain/FewestDevices.h"
#include "planning/chain/LatencyProgram.h"
#include "planning/chain/MinMaxProgram.h"
#include "planning/chain/PlanBound.h"
#include "planning/chain/PlanWalk.h"
#include "planning/chain/StartPlans.h"

using namespace rondo;

namespace {

/// End of each step, as a part of the time limit.
constexpr double programsEnd = 0.4, boundEnd = 0.5, exactEnd = 0.55,
                 descentsEnd = 0.7;
/// Maximum number of stages that the search of all plans tries.
constexpr int64_t maxExactStages = 2'000'000;
/// Maximum number of devices for which all plans are enumerated (ExactPlans).
constexpr int32_t maxExactDevices = 64;
/// Maximum number of plans from which changes begin.
constexpr size_t maxStarts = 4;
/// Number of annealing runs.
constexpr int32_t numAnnealings = 5;
/// Without a time limit, or from this limit in ms on, the dynamic programs run
/// at their thorough scale (programScale()).
constexpr int64_t thoroughMs = 5000;

class Planner {
public:
  Planner(const ChainProblem &problem, const ChainPlannerOptions &options)
      : problem(problem), options(options),
        limits(Deadline(options.timeLimitMs, options.clock), options.interrupt),
        effort(options.statedEffort()), orders(deviceOrders(problem)),
        walk(problem, options.evaluator, orders.front(), options.seed) {}

  ChainPlannerResult run();

private:
  bool isOver(double part = 1) const { return limits.isOver(part); }
  bool isProven() const { return best.cost <= bound; }
  void offer(CostedPlan plan);
  void offer(const ChainPlan &plan) { offer(walk.costed(plan)); }
  void startPlans();
  void offerWorkloads(const std::vector<int32_t> &order);
  void runPrograms();
  /// Runs LatencyProgram over an order of devices, once for each share: its
  /// limit of the time beyond one path latency is that share of the best plan's
  /// time.
  void runProgram(const std::vector<int32_t> &order,
                  const std::vector<double> &shares,
                  double until = programsEnd);
  std::vector<double> nearBestShare() const;
  void reorder();
  void descend();
  void anneal();
  double spent(int64_t sinceTried, double sincePart, double untilPart) const;

  const ChainProblem &problem;
  const ChainPlannerOptions &options;
  const RunLimits limits;
  const int64_t effort;
  const std::vector<std::vector<int32_t>> orders;
  PlanWalk walk;
  CostedPlan best;
  int64_t bound = 0;
  /// The best plans found, of different costs, best first.
  std::vector<CostedPlan> starts;
  /// The share with which runProgram() last improved the best plan; 0: none
  /// yet.
  double bestShare = 0;
};

void Planner::offer(CostedPlan plan) {
  if (plan.cost == infinite)
    return;
  if (plan.cost < best.cost)
    best = plan;
  // Plans of equal cost are mostly one plan with equal devices exchanged.
  if (std::none_of(starts.begin(), starts.end(), [&](const CostedPlan &known) {
        return known.cost == plan.cost;
      }))
    insertByRank(
        starts, std::move(plan),
        [](const CostedPlan &a, const CostedPlan &b) {
          return a.cost < b.cost;
        },
        maxStarts);
}

/// Submits the plans from which the search starts: plans of equal work, quick
/// published planners, and plans that need the fewest devices. If devices have
/// equal memory and some plan fits, one of the last ones does.
void Planner::startPlans() {
  for (const ChainPlan &plan : evenPlans(problem, orders.front()))
    offer(plan);
  offer(ChainPlan{{0, problem.numLayers(), {orders.front().front()}}});
  offerQuickPlans(
      problem, options.evaluator, [&] { return isOver(); },
      [&](const ChainPlan &plan) { offer(plan); });
  const int64_t smallest = problem.smallestDeviceBytes();
  for (const ChainPlan &plan : fittingPlans(problem, smallest, orders))
    offer(plan);
  if (smallest < problem.memoryBytes)
    for (const ChainPlan &plan :
         fittingPlans(problem, problem.memoryBytes, orders))
      offer(plan);
}

void Planner::runProgram(const std::vector<int32_t> &order,
                         const std::vector<double> &shares, double until) {
  const ProgramScale scale = programScale(
      problem, !limits.deadline.exists() || options.timeLimitMs >= thoroughMs);
  const OrderedGroups groups(problem, order, scale.devicesPerUnit);
  LatencyProgram program(problem, groups, options.evaluator, scale.cuts);
  for (double share : shares) {
    if (isOver(until))
      return;
    const auto known = static_cast<double>(best.cost);
    const int64_t before = best.cost;
    for (const ChainPlan &plan :
         program.solve({share * known, 1.02 * known}, maxStarts))
      offer(plan);
    if (best.cost < before)
      bestShare = share;
  }
}

/// Submits all plans of SPP's dynamic program (MinMaxProgram) whose workload is
/// below the time of the best plan.
void Planner::offerWorkloads(const std::vector<int32_t> &order) {
  if (isOver(boundEnd))
    return;
  const OrderedGroups groups(problem, order);
  const MinMaxProgram program(problem, groups, problem.numDevices(),
                              best.cost - 1);
  for (int32_t stages = 1; stages <= program.maxStages(); ++stages)
    for (int32_t units = 1; units <= problem.numDevices(); ++units)
      if (program.workload(stages, units) < best.cost)
        offer(walk.costed(program.plan(stages, units), best.cost - 1));
}

void Planner::runPrograms() {
  std::vector<double> shares;
  for (double share = 0.97; share > 0.08; share *= 0.83)
    shares.push_back(share);
  runProgram(orders.front(), shares);
  if (bestShare == 0)
    bestShare = 0.9;
  for (const std::vector<int32_t> &order : orders)
    runProgram(order, nearBestShare());
  // SPP's program comes last: a good known plan prunes most of its states.
  if (problem.numDevices() > maxQuickDevices)
    return;
  std::vector<int32_t> order = orderByMinimumCuts(problem);
  offerWorkloads(order);
  std::reverse(order.begin(), order.end());
  offerWorkloads(order);
}

std::vector<double> Planner::nearBestShare() const {
  std::vector<double> shares;
  for (double factor : {1., 0.96, 1.04})
    shares.push_back(bestShare * factor);
  return shares;
}

/// Runs LatencyProgram over the order of devices in the best plan, as long as
/// that improves the plan.
void Planner::reorder() {
  for (int64_t before = infinite; best.cost < before && !isOver(descentsEnd);) {
    before = best.cost;
    std::vector<int32_t> order, idle = orders.front();
    for (const ChainStage &stage : best.plan.plan())
      for (int32_t device : stage.devices) {
        order.push_back(device);
        idle.erase(std::find(idle.begin(), idle.end(), device));
      }
    order.insert(order.begin(), idle.begin(), idle.end());
    runProgram(order, nearBestShare(), descentsEnd);
    if (best.cost >= before)
      return;
    CostedPlan plan = best;
    walk.descend(plan, [&] { return isOver(descentsEnd); });
    offer(std::move(plan));
  }
}

void Planner::descend() {
  for (CostedPlan plan : std::vector<CostedPlan>(starts)) {
    walk.descend(plan, [&] { return isOver(descentsEnd); });
    offer(std::move(plan));
  }
}

/// The part of an annealing's budget that is spent, by effort or by time,
/// whichever is more.
double Planner::spent(int64_t sinceTried, double sincePart,
                      double untilPart) const {
  if (limits.isInterrupted())
    return 1;
  const double byEffort = static_cast<double>(walk.plansTried() - sinceTried) /
                          (1000. * static_cast<double>(effort) / numAnnealings);
  if (!limits.deadline.exists())
    return byEffort;
  return std::max(byEffort, (limits.deadline.passed() - sincePart) /
                                (untilPart - sincePart));
}

void Planner::anneal() {
  const double from = limits.deadline.passed();
  const std::vector<CostedPlan> others = starts;
  for (int32_t k = 0; k < numAnnealings && !isOver() && !isProven(); ++k) {
    // Alternates between the best plan and the other starts.
    CostedPlan plan = k % 2 == 0 ? best : others[(k / 2 + 1) % others.size()];
    const int64_t tried = walk.plansTried();
    const double begin = from + (1 - from) * k / numAnnealings,
                 end = from + (1 - from) * (k + 1) / numAnnealings;
    walk.anneal(plan, [&] { return spent(tried, begin, end); });
    walk.descend(plan, [&] { return isOver(); });
    offer(std::move(plan));
  }
}

ChainPlannerResult Planner::run() {
  startPlans();
  runPrograms();
  const CostToGo rest(problem, ChainCosts(problem));
  bound = PlanBound(problem, options.evaluator, rest).find(best.cost, [&] {
    return isOver(boundEnd);
  });
  if (!isProven() && problem.numDevices() <= maxExactDevices) {
    ExactPlans exact(problem, options.evaluator, rest);
    const ExactPlans::Result found =
        exact.find(best.cost, maxExactStages, [&] { return isOver(exactEnd); });
    if (!found.plan.empty())
      offer(found.plan);
    if (found.isComplete)
      bound = best.cost;
  }
  if (!isProven()) {
    descend();
    reorder();
  }
  if (!isProven())
    anneal();
  ChainPlannerResult result;
  result.plansTried = walk.plansTried();
  if (best.cost >= PlanWalk::overMemory) {
    result.fault =
        (bound >= PlanWalk::overMemory ? makeFault<FaultKind::NoPlanFits>()
                                       : makeFault<FaultKind::NoPlanFound>())
            .withFigures(best.plan.neededBytes(problem, ChainCosts(problem)),
                         problem.memoryBytes);
    return result;
  }
  result.plan = best.plan.plan();
  result.timeNs = best.cost;
  result.memoryBytes = best.plan.memoryBytes(ChainCosts(problem));
  result.neededBytes = best.plan.neededBytes(problem, ChainCosts(problem));
  result.lowerBoundNs = bound;
  result.stop = limits.stop(isProven());
  return result;
}

} // namespace

ChainPlannerResult rondo::planChain(const ChainProblem &problem,
                                    const ChainPlannerOptions &options) {
  if (std::optional<Fault> fault = findMemoryFault(problem)) {
    ChainPlannerResult result;
    result.fault = std::move(fault);
    return result;
  }
  return Planner(problem, options).run();
}
