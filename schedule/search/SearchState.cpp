//===- SearchState.cpp - The best schedule and the bound so far -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/SearchState.h"

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;

/// Upper estimate of the cost of quickBound() per task, in tasks placed or
/// timed.
static constexpr int64_t stepsOfBound = 12;

bool SearchState::begin(int64_t defaultEffort) {
  result.fault = findShortfall(problem);
  if (result.fault)
    return false;
  result.bound = roughBound(problem, options.without);
  if (budget.hasTimeFor(stepsOfBound * tasks)) {
    result.bound = quickBound(problem, options.without);
    budget.use(stepsOfBound / 2 * tasks);
  }
  if (options.known.ns > result.bound.ns)
    result.bound = options.known;
  report();
  budget.limitEffort(options.effort > 0
                         ? std::min(options.effort, never / 1000) * 1000
                         : defaultEffort);
  return true;
}

int64_t SearchState::objective() const {
  return result.schedule ? objectiveOf(problem, result.simulation) : never;
}

void SearchState::report(int64_t found) const {
  if (!options.observer)
    return;
  const int64_t best = std::min(found, objective());
  options.observer({best < never ? best : infinite, result.bound});
}

int64_t SearchState::labelsForBounds(int64_t tasksInTime) const {
  return std::min({budget.tasksLeft() / 4, (tasksInTime - 3 * tasks) / 16,
                   int64_t(4000000)});
}

void SearchState::seekPricedPaths(int64_t tasksInTime) {
  const BoundArgument argument = pricedPaths();
  if (const int64_t labels = labelsForBounds(tasksInTime);
      labels > 0 && uses(argument.name))
    keep({argument.compute(problem, objective(), labels), argument.name});
}

void SearchState::keep(const Bound &bound, int64_t found) {
  if (bound.ns <= result.bound.ns)
    return;
  result.bound = bound;
  report(found);
}

int64_t SearchState::keep(Judged judged, const std::string &origin) {
  const int64_t value = judged.objective;
  if (value >= never || value > objective() ||
      (value == objective() &&
       fullestPeak(judged.simulation) >= fullestPeak(result.simulation)))
    return value;
  result.schedule = std::move(judged.schedule);
  result.simulation = std::move(judged.simulation);
  result.origin = origin;
  report();
  return value;
}

int64_t SearchState::judgeAndKeep(Schedule schedule, bool inIndexOrder,
                                  const std::string &origin) {
  Judged judged = judge(problem, std::move(schedule), inIndexOrder);
  budget.use(judged.steps);
  return keep(std::move(judged), origin);
}

void SearchState::finish() {
  result.provenOptimal = result.schedule && objective() <= result.bound.ns;
  if (!result.schedule)
    result.fault = makeFault<FaultKind::NothingFits>();
  result.stop = result.provenOptimal ? SearchStop::Optimal : budget.stop();
}
