//===- ShardedSearch.cpp - Search of plans whose stages are sharded -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/ShardedSearch.h"

#include "planning/Deadline.h"
#include "schedule/Bounds.h"
#include "schedule/Family.h"
#include "schedule/Legality.h"
#include "schedule/Objective.h"
#include "schedule/PlaceGathers.h"
#include "schedule/Units.h"

#include <algorithm>

namespace rondo {

namespace {

/// Bytes by which the arena of the order's programs is larger than a device, by
/// rank; 0 where it fits.
std::vector<int64_t> excessOf(const PlanFigures &plan, const Problem &problem,
                              const Schedule &schedule) {
  std::vector<int64_t> excess(problem.numRanks(), 0);
  if (!plan.declaresWeights)
    return excess;
  const auto arena = arenaOf(plan, problem, schedule);
  for (size_t rank = 0; arena && rank < arena->size(); ++rank)
    if (plan.devices[rank] != noMemoryCap)
      excess[rank] = std::max<int64_t>(0, (*arena)[rank] - plan.devices[rank]);
  return excess;
}

bool isZero(const std::vector<int64_t> &figures) {
  return std::all_of(figures.begin(), figures.end(),
                     [](int64_t figure) { return figure == 0; });
}

/// Gathers placed in an order, if that keeps the rules and fits the devices.
std::optional<SearchResult> judge(const PlanFigures &plan,
                                  const Problem &problem, Schedule order,
                                  std::string origin,
                                  std::vector<int64_t> *excess = nullptr) {
  SearchResult result;
  Schedule placed = withGathers(problem, std::move(order));
  if (auto fault = checkSchedule(problem, placed, &result.simulation)) {
    if (excess && fault->rule == Rule::Memory)
      (*excess)[fault->rank] = fault->found - fault->allowed;
    return std::nullopt;
  }
  const std::vector<int64_t> over = excessOf(plan, problem, placed);
  if (excess)
    *excess = over;
  if (!isZero(over))
    return std::nullopt;
  result.schedule = std::move(placed);
  result.origin = std::move(origin);
  return result;
}

} // namespace

SearchResult searchSharded(const PlanFigures &plan, const Problem &problem,
                           const SearchOptions &options, const RunSearch &run) {
  // Whole state relaxes the problem, so its bound holds under the same caps.
  Problem relaxed = withWholeState(problem);
  Problem whole = relaxed;
  relaxed.memoryCaps = problem.memoryCaps;
  std::optional<SearchResult> best;
  auto take = [&](std::optional<SearchResult> found) {
    if (found && (!best || objectiveOf(problem, found->simulation) <
                               objectiveOf(problem, best->simulation)))
      best = std::move(found);
  };
  const Deadline limit(options.timeLimitMs, options.clock);
  std::vector<FamilyChoice> choices = allFamilies();
  // With these state is moved once a unit, so which is best depends on links
  // and memory.
  for (int64_t unit : unitsWorthTrying(problem))
    choices.push_back(
        std::get<FamilyChoice>(chooseFamily("blockwise", {{"u", unit}})));
  constexpr double partOfFamilies = 0.5;
  for (const FamilyChoice &choice : choices) {
    if (best && limit.isOver(partOfFamilies))
      break;
    FamilyResult made = generate(choice, problem);
    if (auto *order = std::get_if<Schedule>(&made))
      take(judge(plan, problem, std::move(*order), choice.text()));
  }
  // Caps leave room for one chunk; where programs need more, for that as well.
  constexpr int attempts = 3;
  auto shareOf = [&](int attempt) {
    SearchOptions share = options;
    const int64_t parts = attempt == 0 ? 2 : 4;
    if (options.effort > 0)
      share.effort = std::max<int64_t>(1, options.effort / parts);
    if (options.timeLimitMs > 0)
      share.timeLimitMs = std::max<int64_t>(1, options.timeLimitMs / parts);
    return share;
  };
  SearchResult last;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    SearchResult found = run(whole, shareOf(attempt));
    if (!found.schedule) {
      last = std::move(found);
      break;
    }
    std::vector<int64_t> excess(problem.numRanks(), 0);
    auto judged =
        judge(plan, problem, std::move(*found.schedule), found.origin, &excess);
    if (judged)
      judged->stop = found.stop;
    last.stop = found.stop;
    take(std::move(judged));
    if (isZero(excess))
      break;
    for (size_t rank = 0; rank < excess.size(); ++rank)
      if (whole.memoryCaps[rank] != noMemoryCap)
        whole.memoryCaps[rank] =
            std::max<int64_t>(0, whole.memoryCaps[rank] - excess[rank]);
  }
  if (!best) {
    if (!last.fault)
      last.fault = makeFault<FaultKind::NoShardedOrder>();
    return last;
  }
  best->bound = quickBound(relaxed);
  best->provenOptimal =
      objectiveOf(problem, best->simulation) <= best->bound.ns;
  return std::move(*best);
}

} // namespace rondo
