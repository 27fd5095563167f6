//===- Units.cpp - Number of micro-batches in a unit ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/Units.h"

#include "planning/gathers/FittingGathers.h"
#include "schedule/families/Placement.h"
#include "schedule/families/Replicas.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

/// Sets `worst` to the move of which less is hidden.
static void keepWorse(Beside &worst, Beside other) {
  if (other.partOf(1) > worst.partOf(1))
    worst = other;
}

Hiding rondo::hidingOf(const Problem &problem) {
  Hiding worst;
  for (const std::vector<int32_t> &chunks :
       problem.replicas.byRank(problem.numRanks()))
    for (size_t k = 0; k < chunks.size(); ++k) {
      const int32_t replica = chunks[k];
      const ShardedState how = problem.shardedState(replica);
      if (!problem.replicas[replica].isSharded())
        continue;
      // A single chunk is its own predecessor.
      const int32_t before = chunks[(k + chunks.size() - 1) % chunks.size()];
      auto ns = [&](int32_t of, ActionKind kind) {
        return problem.cost(of, kind).ns;
      };
      // Stages that do not shard weights, or gradients, move these once per
      // iteration, not once per unit.
      if (how == ShardedState::Weights)
        keepWorse(worst.gather, {ns(replica, ActionKind::Unshard),
                                 ns(before, ActionKind::Forward)});
      if (how != ShardedState::Optimizer)
        keepWorse(worst.reduction,
                  {ns(replica, ActionKind::ReduceGrad),
                   std::max(ns(before, ActionKind::InputGrad),
                            ns(before, ActionKind::WeightGrad))});
    }
  return worst;
}

UnitLimit UnitCandidate::limit() const {
  if (!fits())
    return UnitLimit::Memory;
  if (exposedNs > idleNs)
    return UnitLimit::Traffic;
  return idleNs > 0 ? UnitLimit::Bubble : UnitLimit::Nothing;
}

std::vector<int64_t> rondo::unitsWorthTrying(const Problem &problem) {
  const int64_t all = problem.microbatches;
  // The problem for which `blockwise` writes its order: whole state, with
  // memory reserved for one gathered chunk.
  Problem groups = withWholeState(problem);
  if (RankGroups::areNeeded(groups)) {
    auto found = RankGroups::of(groups);
    if (!found)
      return {all};
    groups = found->groupProblem();
  }
  const int64_t ranks = groups.numRanks(), fit = microbatchesThatFit(groups);
  std::vector<int64_t> units = {
      ranks, ranks * 3 / 2, 2 * ranks - 2, 2 * ranks - 1,
      fit,   fit * 3 / 4,   fit / 2,       hidingOf(problem).leastUnit()};
  constexpr int64_t mostEqual = 8;
  for (int64_t count = 1; count <= mostEqual; ++count)
    units.push_back((all + count - 1) / count);
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  units.erase(std::remove_if(units.begin(), units.end(),
                             [&](int64_t u) { return u < 1 || u > all; }),
              units.end());
  return units;
}

/// The problem in which gathers and reductions take no time.
static Problem withFreeMoves(const Problem &problem) {
  Problem free = problem;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (ActionKind kind : {ActionKind::Unshard, ActionKind::ReduceGrad})
      free.cost(replica, kind).ns = 0;
  return free;
}

/// Sets the rank that exceeds its memory most, and the bytes.
static void findMissing(UnitCandidate &candidate, const Problem &problem,
                        const PlanArenas &arenas) {
  auto compare = [&](const std::vector<int64_t> &limits,
                     const std::vector<int64_t> &held) {
    const std::vector<int64_t> excess = excessOver(limits, held);
    const auto worst = std::max_element(excess.begin(), excess.end());
    if (*worst <= candidate.missingBytes)
      return;
    candidate.missingBytes = *worst;
    candidate.missingOn = static_cast<int32_t>(worst - excess.begin());
  };
  compare(problem.memoryCaps, candidate.peakBytes);
  if (!candidate.arenaBytes.empty())
    compare(arenas.devices(), candidate.arenaBytes);
}

/// The order of `blockwise`, with gathers that fit `arenas`.
static Result<Schedule> makeOrder(const Problem &problem, int64_t unit,
                                  const PlanArenas &arenas = {}) {
  auto choice = chooseFamily("blockwise", {{"u", unit}});
  auto made = generate(*choice, problem);
  if (!made)
    return std::move(made.fault());
  return withGathers(problem, std::move(*made), arenas);
}

/// Simulates one unit size. Gathers are placed within `fitting`.
static UnitCandidate rateUnit(const Problem &problem, const Problem &free,
                              int64_t unit, const PlanArenas &arenas,
                              const PlanArenas &fitting = {}) {
  UnitCandidate candidate;
  candidate.unit = unit;
  auto made = makeOrder(problem, unit, fitting);
  if (!made) {
    candidate.fault = std::move(made.fault());
    return candidate;
  }
  const Schedule &placed = *made;
  Simulation run;
  auto fault = checkAndSimulate(problem, placed, run);
  if (fault && fault->rule != Rule::Memory) {
    candidate.fault = std::move(fault);
    return candidate;
  }
  const int64_t freeNs = simulate(free, placed).makespanNs;
  candidate.makespanNs = run.makespanNs;
  candidate.idleNs =
      freeNs - *std::max_element(run.rankWorkNs.begin(), run.rankWorkNs.end());
  candidate.exposedNs = std::max<int64_t>(0, run.makespanNs - freeNs);
  candidate.peakBytes = std::move(run.peakBytes);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    const GatherCounts counts = countGathers(problem, placed.rank(rank));
    if (rank > 0 && counts.bytes <= candidate.trafficBytes)
      continue;
    candidate.gathers = counts.gathers;
    candidate.reductions = counts.reductions;
    candidate.trafficBytes = counts.bytes;
  }
  candidate.arenaBytes = arenas.of(placed).value_or(std::vector<int64_t>());
  findMissing(candidate, problem, arenas);
  // Planning arenas is slow, so gathers are fitted to them only if memory is
  // short.
  if (candidate.missingBytes > 0 && problem.replicas.areSharded() &&
      arenas.areKnown() && !fitting.areKnown())
    return rateUnit(problem, free, unit, arenas, arenas);
  return candidate;
}

/// If orders are too large to plan all arenas: plans the arena of the best
/// candidate, then of the next best if it does not fit, until one fits.
static void planBestArenas(const Problem &problem, const PlanArenas &arenas,
                           std::vector<UnitCandidate> &candidates) {
  if (!arenas.areKnown())
    return;
  for (;;) {
    const std::optional<size_t> best = bestUnit(candidates);
    if (!best || !candidates[*best].arenaBytes.empty())
      return;
    UnitCandidate &candidate = candidates[*best];
    auto arena =
        arenas.ofLargeSchedules().of(*makeOrder(problem, candidate.unit));
    if (!arena)
      return;
    candidate.arenaBytes = std::move(*arena);
    findMissing(candidate, problem, arenas);
  }
}

std::vector<UnitCandidate> rondo::rateUnits(const Problem &problem,
                                            const std::vector<int64_t> &units,
                                            const PlanArenas &arenas) {
  const Problem free = withFreeMoves(problem);
  std::vector<UnitCandidate> candidates;
  for (int64_t unit : units)
    candidates.push_back(rateUnit(problem, free, unit, arenas));
  planBestArenas(problem, arenas, candidates);
  return candidates;
}

std::optional<size_t>
rondo::bestUnit(const std::vector<UnitCandidate> &candidates) {
  // Compares arenas if all candidates have them: they include what tasks hold.
  const bool haveArenas = std::all_of(
      candidates.begin(), candidates.end(), [](const UnitCandidate &one) {
        return one.fault || !one.arenaBytes.empty();
      });
  auto rating = [&](const UnitCandidate &one) {
    const std::vector<int64_t> &bytes =
        haveArenas ? one.arenaBytes : one.peakBytes;
    const int64_t peak = *std::max_element(bytes.begin(), bytes.end());
    return std::tuple(one.missingBytes, one.makespanNs, peak, one.trafficBytes,
                      one.unit);
  };
  std::optional<size_t> best;
  for (size_t c = 0; c < candidates.size(); ++c)
    if (!candidates[c].fault &&
        (!best || rating(candidates[c]) < rating(candidates[*best])))
      best = c;
  return best;
}

/// The unit that is best for the problem. The number of chunks is the plan's.
static Result<FamilyArguments> chooseUnit(const Problem &problem,
                                          FamilyArguments arguments,
                                          const PlanArenas &arenas) {
  if (arguments["v"] == autoArgument) {
    const int32_t rank = problem.rankOf(0);
    const auto chunks = std::count_if(
        problem.replicas.begin(), problem.replicas.end(),
        [&](const Replica &replica) { return replica.rank == rank; });
    return makeFault<FaultKind::AutoChunks>("blockwise", chunks);
  }
  const std::vector<UnitCandidate> candidates =
      rateUnits(problem, unitsWorthTrying(problem), arenas);
  const std::optional<size_t> best = bestUnit(candidates);
  if (!best)
    return *candidates.front().fault;
  arguments["u"] = candidates[*best].unit;
  return arguments;
}

Result<FamilyChoice> rondo::withNumbers(const FamilyChoice &choice,
                                        const Problem &problem,
                                        const PlanArenas &arenas) {
  if (!choice.hasAuto())
    return choice;
  // Only `blockwise` has parameters that may be `auto`.
  auto chosen = chooseUnit(problem, choice.arguments, arenas);
  if (!chosen)
    return std::move(chosen.fault());
  return FamilyChoice{choice.family, std::move(*chosen)};
}
