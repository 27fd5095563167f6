//===- FittingSearch.cpp - Schedules whose programs fit -------------------===//

#include "passes/FittingSearch.h"

#include "passes/WallLimit.h"
#include "schedule/Bounds.h"
#include "schedule/Objective.h"
#include "schedule/Shortfall.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace rondo::pipe {

bool mayOverflow(const PlanFigures &plan, const Problem &problem) {
  // Every transient buffer of every micro-batch at once, beside the state.
  constexpr double alignment = bufferAlignment;
  std::vector<double> most(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (int kind = 0; kind < numBufferKinds; ++kind) {
      const bool isEach =
          kind >= int(firstTransientBuffer) || kind == int(BufferKind::Data);
      most[problem.rankOf(s)] += (double(plan.buffers[s][kind]) + alignment) *
                                 (isEach ? problem.microbatches : 1);
    }
  for (auto [bytes, device] : llvm::zip_equal(most, plan.devices))
    if (device != noMemoryCap && bytes > double(device))
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

/// Among how many attempts a share is split: less than about this much of each
/// task finds little, and caps that follow from a poor schedule are too low.
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

/// Lowers the caps by what the arenas of a schedule's programs are larger than
/// the devices. What is missing most, in words; empty where they fit.
std::string tighten(const PlanFigures &plan, const Problem &problem,
                    const Schedule &schedule, std::vector<int64_t> &caps) {
  std::optional<std::vector<int64_t>> arena = arenaOf(plan, problem, schedule);
  if (!arena)
    return "its memory cannot be planned";
  std::string said;
  int64_t most = 0;
  for (auto [rank, bytes] : llvm::enumerate(*arena)) {
    const int64_t excess = bytes - plan.devices[rank];
    if (plan.devices[rank] == noMemoryCap || excess <= 0)
      continue;
    caps[rank] = std::max<int64_t>(0, caps[rank] - excess);
    if (excess <= most)
      continue;
    most = excess;
    said = "rank " + std::to_string(rank) + " needs an arena of " +
           std::to_string(bytes) + " bytes, " + std::to_string(excess) +
           " more than its device's " + std::to_string(plan.devices[rank]);
  }
  return said;
}

} // namespace

SearchResult searchFitting(const FittingSearch &search,
                           const SearchOptions &options) {
  Problem &tightened = search.tightened;
  SearchResult none;
  none.bound = search.bound;
  if (std::optional<Shortfall> shortfall = findShortfall(search.problem)) {
    none.reason = shortfall->message;
    return none;
  }
  // Lower caps are not what state leaves.
  tightened.devices.clear();
  const WallLimit limit(options.timeLimitMs);
  const int64_t attempts = attemptsOf(options, tightened);
  // The last under which something fitted, if anything has.
  std::vector<int64_t> fitting = tightened.memoryCaps;
  std::optional<SearchResult> found;
  Bound bound = search.bound;
  std::string missing, reason;
  int64_t effortLeft = options.effort;
  bool fits = !mayOverflow(search.plan, search.problem);
  for (int64_t attempt = 0; attempt < attempts; ++attempt) {
    // Whether a program fits takes time too.
    if (attempt > 0 && limit.isOver() && (found || search.mayGiveUp()))
      break;
    const int64_t parts = fits ? 1 : attempts - attempt;
    SearchOptions now = options;
    if (options.effort > 0) {
      now.effort = std::max<int64_t>(1, effortLeft / parts);
      effortLeft -= now.effort;
    }
    if (options.timeLimitMs > 0)
      now.timeLimitMs = std::max<int64_t>(1, limit.leftMs() / parts);
    const std::vector<int64_t> caps = tightened.memoryCaps;
    SearchResult result = search.run(tightened, now);
    if (!result.schedule) {
      reason = result.reason;
      break;
    }
    const bool isOptimal = result.provenOptimal;
    // A bound under lower caps does not speak of the plan.
    if (caps != search.problem.memoryCaps) {
      result.bound = bound;
      result.provenOptimal =
          objectiveOf(search.problem, result.simulation) <= bound.ns;
    } else if (result.bound.ns > bound.ns) {
      bound = result.bound;
    }
    missing = tighten(search.plan, search.problem, *result.schedule,
                      tightened.memoryCaps);
    if (missing.empty()) {
      fitting = caps;
      keepBetter(search.problem, found, std::move(result));
      if (fits || isOptimal)
        break;
      fits = true;
    } else if (fits) {
      break;
    }
    if (options.interrupt && *options.interrupt)
      break;
  }
  if (found) {
    tightened.memoryCaps = fitting;
    return std::move(*found);
  }
  none.bound = bound;
  none.reason = missing.empty()
                    ? reason
                    : "no schedule was found whose messages and activations "
                      "fit the memory together: at the nearest " +
                          missing;
  return none;
}

SearchResult searchPlan(
    const PlanFigures &plan, const Problem &problem,
    const SearchOptions &options,
    llvm::function_ref<SearchResult(const Problem &, const SearchOptions &)>
        run) {
  if (!plan.declaresWeights || !mayOverflow(plan, problem))
    return run(problem, options);
  Problem tightened = problem;
  return searchFitting({plan, problem, roughBound(problem), tightened, run,
                        [] { return false; }},
                       options);
}

} // namespace rondo::pipe
