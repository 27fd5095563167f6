//===- FittingGathers.cpp - Adds gathers that fit to an order -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/FittingGathers.h"

#include "kinds/Counts.h"
#include "schedule/order/Shards.h"

#include <algorithm>

using namespace rondo;

/// `2`, or `[2, 1]`, indexed by rank, if the ranks differ.
static std::string numbersOf(const Residencies &residencies,
                             int32_t Residency::*field) {
  const int32_t first = residencies.front().*field;
  if (std::all_of(residencies.begin(), residencies.end(),
                  [&](Residency one) { return one.*field == first; }))
    return std::to_string(first);
  std::string text;
  for (const Residency &residency : residencies)
    text += (text.empty() ? "[" : ", ") + std::to_string(residency.*field);
  return text + "]";
}

std::string rondo::textOf(const Residencies &residencies) {
  return "gathers<weights = " + numbersOf(residencies, &Residency::weights) +
         ", gradients = " + numbersOf(residencies, &Residency::gradients) + ">";
}

std::string rondo::describe(const FittingResidencies &chosen) {
  const FittingResidencies::Lack &lack = *chosen.lack;
  const std::string text = textOf(chosen.residencies) +
                           " is the fastest of those tried that fit; " +
                           textOf(lack.fastest) + " is faster, but ";
  if (lack.rank < 0)
    return text + "its programs wait for each other: few messages or launches "
                  "of a rank may be under way";
  return text + "rank " + std::to_string(lack.rank) + " lacks " +
         countOf(lack.bytes, "byte") + " for it";
}

Schedule rondo::withGathers(const Problem &problem, Schedule schedule,
                            const PlanArenas &arenas,
                            std::optional<FittingResidencies> *taken) {
  if (!problem.replicas.areSharded() || movesState(schedule))
    return schedule;
  FittingResidencies chosen = chooseFitting(problem, schedule, arenas);
  Schedule placed = placeGathers(problem, schedule, chosen.residencies);
  if (taken)
    *taken = std::move(chosen);
  return placed;
}

std::optional<Schedule> rondo::withGathersLike(const Units &units,
                                               const Problem &problem,
                                               const Schedule &schedule,
                                               const PlanArenas &arenas) {
  if (movesState(schedule) && unitsOf(problem, schedule) == units)
    return schedule;
  const Schedule tasks = withoutMoves(schedule);
  std::vector<int32_t> chunks(problem.numRanks(), 0);
  for (const Replica &replica : problem.replicas)
    chunks[replica.rank] += replica.isSharded();
  const int32_t most = *std::max_element(chunks.begin(), chunks.end());
  for (int32_t gradients = 0; gradients <= most; ++gradients) {
    auto fix = [&](Residencies residencies) {
      for (Residency &residency : residencies)
        residency.gradients = gradients;
      return residencies;
    };
    // The positions of weight gathers do not change the units.
    if (unitsOf(problem, placeGathers(problem, tasks, fix(Residencies(1)))) !=
        units)
      continue;
    return placeGathers(problem, tasks,
                        chooseFitting(problem, tasks, arenas, fix).residencies);
  }
  return std::nullopt;
}
