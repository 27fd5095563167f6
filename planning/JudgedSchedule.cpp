//===- JudgedSchedule.cpp - A schedule and its figures --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/JudgedSchedule.h"

#include "planning/gathers/Units.h"

#include <algorithm>

namespace rondo {

JudgedSchedule evaluate(std::string name, std::string family,
                        const Problem &problem, Schedule schedule,
                        bool keepTimes, const PlanArenas &arenas) {
  JudgedSchedule candidate;
  candidate.name = std::move(name);
  candidate.family = std::move(family);
  // Orders that families write have no gathers yet.
  if (problem.replicas.areSharded() && !checkCompleteness(problem, schedule) &&
      !checkPlacement(problem, schedule) && !checkDependence(problem, schedule))
    schedule =
        withGathers(problem, std::move(schedule), arenas, &candidate.gathers);
  candidate.fault =
      checkAndSimulate(problem, schedule, candidate.simulation, keepTimes);
  if (candidate.fault) {
    candidate.reason = describe(*candidate.fault, problem);
    return candidate;
  }
  candidate.schedule = std::move(schedule);
  return candidate;
}

JudgedSchedule evaluate(const FamilyChoice &choice, const Problem &problem,
                        bool keepTimes, const PlanArenas &arenas) {
  JudgedSchedule candidate;
  candidate.name = candidate.family = choice.text();
  auto numbers = withNumbers(choice, problem, arenas);
  if (!numbers) {
    candidate.reason = describe(numbers.fault());
    return candidate;
  }
  const FamilyChoice &chosen = *numbers;
  FamilyResult result = generate(chosen, problem);
  if (result)
    return evaluate(chosen.text(), chosen.text(), withPolicyOf(chosen, problem),
                    std::move(*result), keepTimes, arenas);
  candidate.reason = describe(result.fault());
  return candidate;
}

void addArena(JudgedSchedule &candidate, const Problem &problem,
              const PlanFigures &plan) {
  const bool isLimited =
      std::any_of(plan.devices.begin(), plan.devices.end(),
                  [](int64_t bytes) { return bytes != noMemoryCap; });
  if (!candidate.schedule || (!plan.declaresWeights && !isLimited) ||
      candidate.schedule->numActions() > maxShownTasks)
    return;
  ProvedPrograms proved = provePrograms(plan, problem, *candidate.schedule);
  candidate.arenaBytes = std::move(proved.arenaBytes);
  if (!proved.fault)
    return;
  candidate.schedule.reset();
  candidate.reason = describeFault(proved, problem);
  candidate.isOverArena = proved.isOverCap();
}

std::string refusalText(const std::string &name, const std::string &reason) {
  const std::string family = name.substr(0, name.find(':'));
  return reason.rfind(family, 0) == 0 ? reason : name + ": " + reason;
}

} // namespace rondo
