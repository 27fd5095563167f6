//===- VersionedWindow.cpp - What overlapping iterations read -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/VersionedWindow.h"

#include "dialect/Bridge.h"

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
  window.problem = std::move(*problem);
  window.schedule = std::move(expanded->schedule);
  return window;
}
