//===- Versions.cpp - S8: tasks read versions that exist --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/RunToEnd.h"
#include "schedule/simulate/VersionAnalysis.h"

using namespace rondo;

std::optional<Fault> rondo::checkVersionsOfRun(const Problem &problem,
                                               const Schedule &schedule,
                                               const Simulation &simulation) {
  Result<VersionAnalysis> versions =
      analyzeVersions(problem, schedule, simulation);
  return versions ? std::nullopt
                  : std::make_optional(std::move(versions.fault()));
}

std::optional<Fault> rondo::checkVersions(const Problem &problem,
                                          const Schedule &schedule) {
  if (problem.iterations == 1)
    return std::nullopt;
  Simulation simulation;
  if (runToEnd(problem, schedule, /*keepTimes=*/true, simulation))
    return std::nullopt;
  return checkVersionsOfRun(problem, schedule, simulation);
}
