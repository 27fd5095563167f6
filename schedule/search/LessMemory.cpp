//===- LessMemory.cpp - Equal objectives, less memory ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bisects a cap for all ranks. Under each cap, the known order is replayed as
// priorities, and a small problem is also searched by beams, for an objective
// that is not above the known one. Then F moves after I and W wherever that
// costs no time and holds fewer bytes over time.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/LessMemory.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Beam.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/SearchParts.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

std::vector<int64_t> rondo::peaksOf(const Problem &problem,
                                    const Schedule &schedule) {
  std::vector<int64_t> peaks(schedule.numRanks());
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    HeldMemory held(problem);
    for (Action action : schedule.rank(rank))
      peaks[rank] = std::max(peaks[rank], held.during(action));
  }
  return peaks;
}

bool rondo::keepsCaps(const Problem &problem, const Schedule &schedule) {
  const std::vector<int64_t> peaks = peaksOf(problem, schedule);
  for (size_t rank = 0; rank < peaks.size(); ++rank)
    if (peaks[rank] > problem.memoryCaps[rank])
      return false;
  return true;
}

int64_t rondo::peakOf(const FlatProblem &flat, const Orders &orders) {
  int64_t peak = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    int64_t held = 0;
    for (Code code : orders.ranks[rank]) {
      const int32_t s = stageOf(code);
      if (taskOf(code) == Task::F)
        peak = std::max(peak, held += flat.takes[s]);
      else
        held -= flat.freedBy(taskOf(code), s);
    }
  }
  return peak;
}

double rondo::byteTimeOf(const FlatProblem &flat, const Orders &orders,
                         const Timer &timer) {
  double sum = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    for (size_t i = 0; i < orders.ranks[rank].size(); ++i) {
      const Task task = taskOf(orders.ranks[rank][i]);
      const int32_t s = stageOf(orders.ranks[rank][i]);
      const int64_t start = timer.starts()[rank][i];
      if (task == Task::F)
        sum -= double(flat.takes[s]) * double(start);
      else
        sum += double(flat.freedBy(task, s)) * double(start + flat.ns[task][s]);
    }
  return sum;
}

namespace {

/// Up to this many tasks, beams take little time and are tried.
constexpr int64_t beamedTasks = 200;

class Lowering {
public:
  Lowering(const Problem &problem, const FlatProblem &flat, Orders known,
           BackwardCosts costs, uint64_t seed, Budget &budget)
      : problem(problem), flat(flat), costs(costs), seed(seed), budget(budget),
        timer(flat), orders(std::move(known)), objective(timer.run(orders)),
        peak(peakOf(flat, orders)) {}

  bool canRun() const { return objective < never; }

  /// True if it has found a lower peak.
  bool lowerPeak(int64_t tasks) {
    const int64_t end = budget.tasksUsed() + tasks, first = peak;
    // All peaks are multiples of the unit.
    int64_t unit = 0, least = 0;
    for (const auto &stages : flat.stagesOf) {
      int64_t together = 0;
      for (int32_t s : stages) {
        unit =
            std::gcd(std::gcd(unit, flat.takes[s]),
                     std::gcd(flat.inputGradFrees[s], flat.weightGradFrees[s]));
        together = flat.isSingleEnded ? together + flat.takes[s]
                                      : std::max(together, flat.takes[s]);
      }
      least = std::max(least, together);
    }
    if (unit == 0)
      return false;
    least /= unit;
    while (least < peak / unit && budget.tasksUsed() < end &&
           !budget.isSpent(4 * flat.tasks())) {
      const int64_t middle = least + (peak / unit - least) / 2;
      if (!fitUnder(middle * unit, (end - budget.tasksUsed()) / 2))
        least = middle + 1;
    }
    return peak < first;
  }

  /// True if it has found fewer bytes over time.
  bool shortenHolding(int64_t tasks) {
    const int64_t end = budget.tasksUsed() + tasks;
    timer.run(orders);
    double best = byteTimeOf(flat, orders, timer);
    bool hasFound = false;
    for (bool hasMoved = true; hasMoved;) {
      hasMoved = false;
      for (int32_t rank = 0; rank < flat.ranks; ++rank)
        for (size_t i = 0; i + 1 < orders.ranks[rank].size(); ++i) {
          Code &code = orders.ranks[rank][i], &next = orders.ranks[rank][i + 1];
          if (taskOf(code) != Task::F || taskOf(next) == Task::F)
            continue;
          if (budget.tasksUsed() >= end || budget.isSpent(flat.tasks()))
            return hasFound;
          std::swap(code, next);
          budget.use(flat.tasks());
          if (timer.run(orders, objective) < never)
            if (const double sum = byteTimeOf(flat, orders, timer);
                sum < best) {
              best = sum;
              hasFound = hasMoved = true;
              continue;
            }
          std::swap(code, next);
        }
    }
    return hasFound;
  }

  const Orders &found() const { return orders; }

private:
  /// Searches orders with no worse objective under a cap of `cap` bytes for
  /// every rank; keeps them if found.
  bool fitUnder(int64_t cap, int64_t tasks) {
    Problem lower = problem;
    for (int64_t &own : lower.memoryCaps)
      own = std::min(own, cap);
    budget.use(6 * flat.tasks());
    if (quickBound(lower).ns > objective)
      return false;
    std::optional<FlatProblem> under = FlatProblem::of(lower, costs);
    if (!under)
      return false;
    Incumbent best;
    best.objective = objective + 1;
    best.bound = objective;
    replay().make({*under, seed, best, budget, orders})->run(tasks);
    for (int64_t width : {1, 8})
      if (best.orders.empty() && flat.tasks() <= beamedTasks &&
          !budget.isSpent(flat.tasks() * flat.tasks() * width))
        beam(*under, width, best, budget);
    if (best.orders.empty())
      return false;
    orders = std::move(best.orders);
    peak = peakOf(flat, orders);
    return true;
  }

  const Problem &problem;
  const FlatProblem &flat;
  const BackwardCosts costs;
  const uint64_t seed;
  Budget &budget;
  Timer timer;
  Orders orders;
  const int64_t objective;
  int64_t peak;
};

/// The backward costs that a flat problem of this schedule needs.
BackwardCosts costsOf(const Problem &problem, const Schedule &schedule) {
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
    for (Action action : schedule.rank(rank))
      if (action.kind() == ActionKind::Backward &&
          hasCheaperBackward(problem, int32_t(action.subject)))
        return BackwardCosts::Fused;
  return BackwardCosts::Split;
}

/// Nothing if none is found, or if the problem or the schedule has no flat
/// form, for example with round-robin stages.
std::optional<Schedule> withLessMemory(const Problem &problem,
                                       const Schedule &schedule, uint64_t seed,
                                       int64_t tasks, Budget &budget) {
  const BackwardCosts costs = costsOf(problem, schedule);
  std::optional<FlatProblem> flat = FlatProblem::of(problem, costs);
  if (!flat)
    return std::nullopt;
  std::optional<Orders> orders = toOrders(*flat, schedule);
  if (!orders)
    return std::nullopt;
  Lowering lowering(problem, *flat, std::move(*orders), costs, seed, budget);
  if (!lowering.canRun())
    return std::nullopt;
  const bool isLower = lowering.lowerPeak(tasks - tasks / 4);
  if (!lowering.shortenHolding(tasks / 4) && !isLower)
    return std::nullopt;
  return toSchedule(*flat, lowering.found(), costs == BackwardCosts::Fused);
}

} // namespace

void rondo::lowerMemory(const Problem &problem, const SearchOptions &options,
                        SearchResult &result, Budget &budget) {
  const int64_t all = problem.numTasks();
  if (budget.isSpent(8 * all))
    return;
  const int64_t most =
      std::min({budget.tasksLeft(), budget.tasksInTime(),
                budget.tasksUsed() / 8 + std::min<int64_t>(400 * all, 400000)});
  std::optional<Schedule> found =
      withLessMemory(problem, *result.schedule, options.seed, most, budget);
  Simulation simulation;
  if (!found || checkAndSimulate(problem, *found, simulation) ||
      (options.inIndexOrder && checkAccumulation(problem, *found)) ||
      objectiveOf(problem, simulation) >
          objectiveOf(problem, result.simulation) ||
      fullestPeak(simulation) > fullestPeak(result.simulation))
    return;
  result.schedule = std::move(found);
  result.simulation = std::move(simulation);
  result.origin = "less-memory";
}
