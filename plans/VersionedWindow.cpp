//===- VersionedWindow.cpp - Versions in overlapping iterations -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/VersionedWindow.h"

#include "dialect/Bridge.h"
#include "schedule/order/Repeating.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/NormDelay.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Whether the version that a task reads depends on times.
static bool dependsOnTimes(const Problem &problem) {
  return llvm::any_of(problem.versions, [](const VersionPolicy &policy) {
    return policy.backward == rondo::BackwardWeights::Committed;
  });
}

FailureOr<VersionedWindow> rondo::pipe::analyzeWindow(ScheduleOp schedule) {
  FailureOr<Problem> problem = buildProblem(schedule);
  if (failed(problem))
    return failure();
  FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
  FailureOr<int64_t> underWay = iterationsUnderWay(schedule);
  Simulation simulation;
  if (failed(expanded) || failed(underWay) ||
      checkRunsAndSimulate(*problem, expanded->schedule, simulation))
    return failure();
  auto analyze = [&](const DelayTable *fixed) {
    return analyzeVersions(*problem, expanded->schedule, simulation, fixed);
  };
  auto versions = analyze(nullptr);
  if (!versions)
    return failure();
  VersionedWindow window;
  window.delays = settledDelays(*problem, *versions, *underWay,
                                schedule.getIterationsEach());
  // It may have changed at the end of the window.
  if (dependsOnTimes(*problem)) {
    versions = analyze(&window.delays);
    if (!versions)
      return failure();
  }
  window.versions = std::move(*versions);
  window.underWay = *underWay;
  window.problem = std::move(*problem);
  window.schedule = std::move(expanded->schedule);
  if (schedule.computesNorm())
    timeOrder(window);
  return window;
}

void rondo::pipe::timeOrder(VersionedWindow &window) {
  window.order = window.schedule.hasCounts()
                     ? withSingleBackwards(window.schedule)
                     : window.schedule;
  window.times = simulate(window.problem, window.order, /*keepTimes=*/true);
  window.normDelay = normDelay(window.problem, window.order, window.times);
  if (window.normDelay > window.underWay)
    window.normDelay = std::nullopt;
}
