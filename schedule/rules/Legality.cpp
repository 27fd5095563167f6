//===- Legality.cpp - The rules together ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

#include "schedule/rules/Rules.h"
#include "schedule/rules/RunToEnd.h"

using namespace rondo;

/// Checks the rows of the table up to and including `last`. S8 uses the
/// simulation that S4 has made.
static std::optional<Fault> checkUpTo(Rule last, const Problem &problem,
                                      const Schedule &schedule, bool keepTimes,
                                      Simulation &simulation) {
  auto check = [&](const ScheduleRule &row) -> std::optional<Fault> {
    if (row.rule == Rule::Deadlock)
      return runToEnd(problem, schedule, keepTimes, simulation);
    if (row.rule == Rule::Versions && problem.iterations > 1)
      return checkVersionsOfRun(problem, schedule, simulation);
    return row.check(problem, schedule);
  };
  for (const ScheduleRule &row : scheduleRules()) {
    if (row.isOptional)
      continue;
    if (auto fault = check(row))
      return fault;
    if (row.rule == last)
      break;
  }
  return std::nullopt;
}

std::optional<Fault> rondo::checkRunsAndSimulate(const Problem &problem,
                                                 const Schedule &schedule,
                                                 Simulation &simulation) {
  return checkUpTo(Rule::Deadlock, problem, schedule, /*keepTimes=*/true,
                   simulation);
}

std::optional<Fault> rondo::checkAndSimulate(const Problem &problem,
                                             const Schedule &schedule,
                                             Simulation &simulation,
                                             bool keepTimes) {
  return checkUpTo(Rule::Versions, problem, schedule,
                   keepTimes || problem.iterations > 1, simulation);
}

std::optional<Fault> rondo::checkSchedule(const Problem &problem,
                                          const Schedule &schedule) {
  Simulation simulation;
  return checkAndSimulate(problem, schedule, simulation);
}
