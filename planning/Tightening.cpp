//===- Tightening.cpp - Lower caps if programs do not fit -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/Tightening.h"

#include "planning/PlanArenas.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"

#include <algorithm>

namespace rondo {

static int64_t largest(const std::vector<int64_t> &figures) {
  return *std::max_element(figures.begin(), figures.end());
}

std::optional<Lack> findLack(const FittingSearch &search,
                             const Schedule &schedule) {
  const PlanFigures &plan = search.plan;
  const Problem &problem = search.problem;
  if (mayBlock(plan, problem))
    if (auto blocked = findBlocked(plan, problem, schedule))
      return Lack{blocked->rule == Rule::Residency
                      ? makeFault<FaultKind::NoProgramInFlight>(plan.resident)
                      : makeFault<FaultKind::NoProgramRuns>(
                            problem.channels.receiveSlots),
                  {}};
  if (!search.limitsArenas)
    return std::nullopt;
  std::optional<std::vector<int64_t>> arena = arenaOf(plan, problem, schedule);
  if (!arena)
    return Lack{makeFault<FaultKind::NoMemoryPlan>(), {}};
  std::vector<int64_t> excess = excessOver(plan.devices, *arena);
  if (search.alsoPlacedFor && largest(excess) > 0)
    if (auto other = arenaOf(plan, *search.alsoPlacedFor, schedule))
      if (auto less = excessOver(plan.devices, *other);
          largest(less) < largest(excess)) {
        arena = std::move(other);
        excess = std::move(less);
      }
  std::optional<Fault> fault = faultOfArenas(plan.devices, *arena);
  if (!fault)
    return std::nullopt;
  return Lack{std::move(*fault), std::move(excess)};
}

std::optional<Fault> lackOfOneByOne(const FittingSearch &search) {
  const Schedule order = oneByOne(search.problem);
  if (checkSchedule(search.problem, order))
    return std::nullopt;
  const std::optional<Lack> lack = findLack(search, order);
  return lack ? std::optional(lack->fault) : std::nullopt;
}

void countKeptInputs(const FittingSearch &search) {
  const Problem &problem = search.problem;
  search.tightened.costs = problem.costs;
  std::vector<int64_t> kept(problem.numReplicas(), 0);
  for (const Edge &edge : problem.edges) {
    if (edge.producer != ActionKind::Forward || !problem.recomputes(edge.to) ||
        problem.recomputation[edge.to] != Recomputation::FromInput)
      continue;
    // With round-robin replicas, each micro-batch comes over one of the edges.
    kept[edge.to] = problem.replicas.areRoundRobin()
                        ? std::max(kept[edge.to], edge.bytes)
                        : kept[edge.to] + edge.bytes;
  }
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (kept[replica] == 0)
      continue;
    auto cost = [&](ActionKind kind) -> Cost & {
      return search.tightened.cost(replica, kind);
    };
    cost(ActionKind::Forward).acquireBytes += kept[replica];
    cost(ActionKind::Recompute).releaseBytes += kept[replica];
  }
}

/// Raises the memory of every F so that all of them together reach the plan's
/// caps. Idempotent.
static void chargeForwards(const Problem &problem, Problem &tightened,
                           const std::vector<int64_t> &least) {
  std::vector<int64_t> forwards(problem.numRanks(), 0);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    forwards[problem.rankOf(replica)] +=
        problem.microbatches / std::max(1, problem.replicas[replica].turns);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const int32_t rank = problem.rankOf(replica);
    if (problem.memoryCaps[rank] == noMemoryCap || forwards[rank] == 0)
      continue;
    const int64_t room = problem.memoryCaps[rank] - least[rank];
    Cost &forward = tightened.cost(replica, ActionKind::Forward);
    const int64_t extra = room / forwards[rank] - forward.acquireBytes;
    if (extra <= 0)
      continue;
    forward.acquireBytes += extra;
    for (ActionKind kind : {ActionKind::InputGrad, ActionKind::Backward})
      tightened.cost(replica, kind).releaseBytes += extra;
  }
}

void lowerCaps(const FittingSearch &search, const Schedule &schedule,
               const Lack &lack, int64_t times) {
  Problem &tightened = search.tightened;
  const Schedule one = oneByOne(tightened);
  auto heldBy = [&](const Schedule &order) {
    return simulate(tightened, order).peakBytes;
  };
  chargeForwards(search.problem, tightened, heldBy(one));
  const std::vector<int64_t> least = heldBy(one), held = heldBy(schedule);
  for (size_t rank = 0; rank < least.size(); ++rank) {
    int64_t &cap = tightened.memoryCaps[rank];
    const int64_t half = least[rank] + (held[rank] - least[rank]) / 2;
    if (lack.excessBytes.empty())
      cap = std::min(cap, half);
    else if (lack.excessBytes[rank] > 0)
      cap = std::min(cap, std::max(half, cap - times * lack.excessBytes[rank]));
  }
}

} // namespace rondo
