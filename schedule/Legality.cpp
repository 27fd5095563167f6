//===- Legality.cpp - The rules together ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Legality.h"

using namespace rondo;

std::optional<Fault> rondo::checkSchedule(const Problem &problem,
                                          const Schedule &schedule,
                                          Simulation *simulation,
                                          bool keepTimes) {
  for (auto rule :
       {checkCompleteness, checkPlacement, checkLinkOrder, checkDependence})
    if (auto fault = rule(problem, schedule))
      return fault;
  Simulation run = simulate(problem, schedule, keepTimes);
  if (auto fault = checkDeadlock(run))
    return fault;
  if (simulation)
    *simulation = std::move(run);
  return checkMemory(problem, schedule);
}
