//===- ListSearch.cpp - Common part of searches on rank lists -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/ListSearch.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;

bool ListSearch::begin(int64_t defaultEffort) {
  result.fault = findShortfall(problem);
  if (result.fault)
    return false;
  result.bound = quickBound(problem, options.without);
  keep(options.known);
  budget.limitEffort((options.effort > 0
                          ? std::min(options.effort, never / 1000000)
                          : defaultEffort) *
                     1000);
  budget.use(12 * problem.numTasks());
  report();
  return true;
}

int64_t ListSearch::objective() const {
  return result.schedule ? objectiveOf(problem, result.simulation) : infinite;
}

void ListSearch::report() const {
  if (options.observer)
    options.observer({objective(), result.bound});
}

void ListSearch::keep(const Bound &bound) {
  if (bound.ns > result.bound.ns)
    result.bound = bound;
}

int64_t ListSearch::submit(Judged judged, const std::string &origin) {
  budget.use(judged.steps);
  const int64_t value = judged.isLegal() ? judged.objective : infinite;
  if (value >= objective())
    return value;
  result.schedule = std::move(judged.schedule);
  result.simulation = std::move(judged.simulation);
  result.origin = origin;
  report();
  return value;
}

void ListSearch::finish() {
  result.provenOptimal = result.schedule && objective() <= result.bound.ns;
  if (!result.schedule)
    result.fault = makeFault<FaultKind::NothingFits>();
  result.stop = result.provenOptimal ? SearchStop::Optimal : budget.stop();
  result.effort = budget.tasksUsed() / 1000;
  result.seconds = budget.seconds();
}
