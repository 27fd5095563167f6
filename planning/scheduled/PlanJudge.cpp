//===- PlanJudge.cpp - The best known order of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/PlanJudge.h"

#include "planning/PlanCandidates.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Portfolio.h"

#include <algorithm>

using namespace rondo;

/// Families write orders for one device per stage. Number of the best of these
/// that are then simulated on all devices of the plan, for FamilyEffort::Few
/// and All.
static constexpr size_t maxSpreadOfFew = 1, maxSpreadOfAll = 3;

StageOrders ScheduledPlan::orders() const {
  StageOrders orders;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    std::vector<Action> &order = orders.emplace_back();
    for (Action action :
         schedule.rank(problem.rankOf(problem.replicas.numberOf(s))))
      if (action.kind() != ActionKind::Step)
        order.push_back({action.kind(), s, int64_t(action.index)});
  }
  return orders;
}

static FamilyChoice familyNamed(const char *name) {
  return *chooseFamily(name, {});
}

PlanJudge::PlanJudge(const ChainProblem &problem)
    : chain(problem), costs(problem),
      few({familyNamed("1f1b"), familyNamed("eager-1f1b")}) {
  // zb-h1 equals 1f1b if no backward is split.
  if (costs.weightGradNs(0, problem.numLayers()) > 0)
    few.push_back(familyNamed("zb-h1"));
}

int64_t PlanJudge::leastNs(const ChainPlan &plan) const {
  const int64_t M = chain.microbatches;
  int64_t least = 0, there = 0, both = 0;
  for (const ChainStage &stage : plan) {
    const auto r = static_cast<int32_t>(stage.devices.size());
    // The slowest device is busy throughout; a micro-batch's path may use the
    // fastest.
    const int64_t slow = weakestOf(chain, stage.devices.data(), r).speedPercent;
    int64_t fast = slow;
    for (int32_t device : stage.devices)
      fast = std::max(fast, deviceOf(chain, device).speedPercent);
    const int64_t F = costs.forwardNs(stage.first, stage.end, r, slow),
                  B = costs.backwardNs(stage.first, stage.end, r, slow),
                  I = costs.inputGradNs(stage.first, stage.end, r, slow);
    least = std::max({least, there + M * (F + B), both + M * (F + I)});
    there += costs.forwardNs(stage.first, stage.end, r, fast);
    both += costs.forwardNs(stage.first, stage.end, r, fast) +
            costs.inputGradNs(stage.first, stage.end, r, fast);
  }
  return least;
}

/// Eager 1F1B with limited depth: a stage has no more micro-batches in flight
/// than fit, nor than the stage before it, for which it would otherwise wait
/// forever.
static Schedule ordersWithin(const Problem &groups) {
  Schedule schedule;
  int64_t depth = groups.microbatches;
  for (int32_t s = 0; s < groups.numStages(); ++s) {
    const int64_t bytes = groups.cost(s, ActionKind::Forward).acquireBytes;
    depth = std::min<int64_t>(depth, 2 * (groups.numStages() - s) - 1);
    if (bytes > 0)
      depth =
          std::max<int64_t>(1, std::min(depth, groups.memoryCaps[s] / bytes));
    for (int64_t m = 0; m < groups.microbatches + depth; ++m) {
      if (m >= depth)
        schedule.append({ActionKind::Backward, s, m - depth});
      if (m < groups.microbatches)
        schedule.append({ActionKind::Forward, s, m});
    }
    schedule.endRank();
  }
  return schedule;
}

static bool keepsCaps(const Problem &problem, const Simulation &simulation) {
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (simulation.peakBytes[rank] > problem.memoryCaps[rank])
      return false;
  return true;
}

/// Appends the orders that fit, the fastest first.
void PlanJudge::write(const Problem &groups, FamilyEffort effort,
                      const StageOrders *known,
                      std::vector<Written> &all) const {
  bool isOverCap = false;
  // Rules are checked only for orders that are spread to all devices.
  auto judge = [&](Schedule schedule) {
    Judged judged;
    judged.simulation = simulate(groups, withSteps(groups, schedule));
    if (judged.simulation.complete) {
      if (keepsCaps(groups, judged.simulation))
        judged.objective = judged.simulation.makespanNs;
      else
        isOverCap = true;
    }
    judged.schedule = std::move(schedule);
    return judged;
  };
  auto offer = [&](Judged judged, const std::string &family) {
    if (judged.isLegal())
      all.push_back({family, std::move(judged.schedule), judged.objective});
  };
  std::vector<FamilyChoice> choices = few;
  if (effort == FamilyEffort::All) {
    choices = allFamilies();
    appendVariants(choices, groups);
  }
  Portfolio families(groups, std::move(choices), [&](Schedule schedule) {
    return checkAccumulation(groups, schedule) ? Judged()
                                               : judge(std::move(schedule));
  });
  families.forEach(
      [&](size_t i) { return families.stepsOf(i) <= maxFamilySteps; },
      [&](size_t i, Judged judged) {
        offer(std::move(judged), families.choice(i).text());
      });
  if (known && known->size() == static_cast<size_t>(groups.numStages()))
    offer(judge(Schedule(*known)), "");
  if (isOverCap)
    offer(judge(ordersWithin(groups)), "");
  std::stable_sort(
      all.begin(), all.end(),
      [](const Written &a, const Written &b) { return a.timeNs < b.timeNs; });
}

bool PlanJudge::improve(ScheduledPlan &plan, const Schedule &tasks,
                        const std::string &family) const {
  Schedule schedule = withSteps(plan.problem, tasks);
  // Rules are checked only for orders that are faster.
  const Simulation simulation = simulate(plan.problem, schedule);
  if (!simulation.complete || simulation.makespanNs >= plan.timeNs ||
      checkSchedule(plan.problem, schedule) ||
      checkAccumulation(plan.problem, schedule))
    return false;
  plan.schedule = std::move(schedule);
  plan.family = family;
  plan.timeNs = simulation.makespanNs;
  plan.memoryBytes = 0;
  for (const Replica &replica : plan.problem.replicas) {
    const ChainStage &stage = plan.plan[replica.stage];
    plan.memoryBytes =
        std::max(plan.memoryBytes, costs.stateBytes(stage.first, stage.end) +
                                       simulation.peakBytes[replica.rank]);
  }
  return true;
}

std::optional<ScheduledPlan> PlanJudge::judge(const ChainPlan &plan,
                                              FamilyEffort effort,
                                              int64_t ceilingNs,
                                              const StageOrders *known) {
  if (leastNs(plan) >= ceilingNs)
    return {};
  ++judged;
  Result<Problem> made = planProblem(chain, plan);
  if (!made)
    return {};
  ScheduledPlan result;
  result.plan = plan;
  result.problem = std::move(*made);
  result.timeNs = ceilingNs;
  // A device has one stage, so each stage has its own group.
  const Result<RankGroups> groups = RankGroups::of(result.problem);
  std::vector<Written> all;
  write(groups->groupProblem(), effort, known, all);
  const size_t most =
      effort == FamilyEffort::Few ? maxSpreadOfFew : maxSpreadOfAll;
  bool isFound = false;
  // With one device per stage, a boundary has the rate of its slowest link, so
  // times are mostly above the plan's time, but rarely far above it.
  const double enough = 1.1 * static_cast<double>(ceilingNs);
  for (size_t i = 0; i < std::min(most, all.size()) &&
                     static_cast<double>(all[i].timeNs) < enough;
       ++i)
    isFound |= improve(result, groups->spread(all[i].schedule), all[i].family);
  if (!isFound)
    return {};
  return result;
}

bool PlanJudge::search(ScheduledPlan &plan, SearchOptions options) const {
  options.inIndexOrder = true;
  bool isBetter = false;
  if (plan.problem.replicas.isReplicated()) {
    options.timeLimitMs = (options.timeLimitMs + 1) / 2;
    options.effort = (options.effort + 1) / 2;
    const Result<RankGroups> groups = RankGroups::of(plan.problem);
    const auto &found = *groups;
    const SearchResult result = rondo::search(found.groupProblem(), options);
    if (result.schedule)
      isBetter |= improve(plan, found.spread(*result.schedule), "");
  }
  const SearchResult result = rondo::search(plan.problem, options);
  if (result.schedule)
    isBetter |= improve(plan, *result.schedule, "");
  return isBetter;
}
