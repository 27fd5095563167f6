//===- Legality.cpp - The rules together ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

#include "schedule/order/Shards.h"
#include "schedule/simulate/VersionAnalysis.h"

using namespace rondo;

std::optional<Fault> rondo::checkRuns(const Problem &problem,
                                      const Schedule &schedule,
                                      Simulation &simulation, bool keepTimes) {
  for (auto rule : {checkCompleteness, checkPlacement, checkLinkOrder,
                    checkDependence, checkGathers})
    if (auto fault = rule(problem, schedule))
      return fault;
  simulation = simulate(problem, schedule, keepTimes);
  return checkDeadlock(simulation);
}

std::optional<Fault> rondo::checkSchedule(const Problem &problem,
                                          const Schedule &schedule,
                                          Simulation *simulation,
                                          bool keepTimes) {
  // Versions may depend on times.
  const bool hasVersions = problem.iterations > 1;
  Simulation run;
  if (auto fault = checkRuns(problem, schedule, run, keepTimes || hasVersions))
    return fault;
  std::optional<Fault> fault = checkMemory(problem, schedule);
  if (!fault && hasVersions) {
    Result<VersionAnalysis> versions = analyzeVersions(problem, schedule, run);
    if (auto *found = std::get_if<Fault>(&versions))
      fault = std::move(*found);
  }
  if (simulation)
    *simulation = std::move(run);
  return fault;
}
