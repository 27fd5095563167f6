//===- VersionedWindow.cpp - What overlapping iterations read -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/VersionedWindow.h"

#include "dialect/Bridge.h"
#include "schedule/NormDelay.h"
#include "schedule/Repeating.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

FailureOr<VersionedWindow> rondo::pipe::analyzeWindow(ScheduleOp schedule) {
  FailureOr<Problem> problem = buildProblem(schedule);
  if (failed(problem))
    return failure();
  FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
  FailureOr<int64_t> underWay = iterationsUnderWay(schedule);
  Simulation simulation;
  if (failed(expanded) || failed(underWay) ||
      checkSchedule(*problem, expanded->schedule, &simulation,
                    /*keepTimes=*/true))
    return failure();
  auto analyze = [&](const DelayTable *fixed) {
    return analyzeVersions(*problem, expanded->schedule, simulation, fixed);
  };
  auto first = analyze(nullptr);
  if (std::holds_alternative<Fault>(first))
    return failure();
  VersionedWindow window;
  window.delays = settledDelays(*problem, std::get<VersionAnalysis>(first),
                                *underWay, schedule.getIterationsEach());
  // What depends on times may have changed at the end of the window.
  auto settled = analyze(&window.delays);
  if (std::holds_alternative<Fault>(settled))
    return failure();
  window.versions = std::move(std::get<VersionAnalysis>(settled));
  window.order = expanded->schedule.hasCounts()
                     ? withSingleBackwards(expanded->schedule)
                     : expanded->schedule;
  window.times = simulate(*problem, window.order, /*keepTimes=*/true);
  window.normDelay = normDelay(*problem, window.order, window.times);
  if (window.normDelay > *underWay)
    window.normDelay = std::nullopt;
  window.problem = std::move(*problem);
  window.schedule = std::move(expanded->schedule);
  return window;
}
