//===- PlanArenas.cpp - Whether a plan's schedules fit --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/PlanArenas.h"

#include <algorithm>

using namespace rondo;

std::vector<int64_t> rondo::excessOver(const std::vector<int64_t> &limits,
                                       const std::vector<int64_t> &heldBytes) {
  std::vector<int64_t> excess(heldBytes.size(), 0);
  for (size_t rank = 0; rank < heldBytes.size(); ++rank)
    if (limits[rank] != noMemoryCap)
      excess[rank] = std::max<int64_t>(0, heldBytes[rank] - limits[rank]);
  return excess;
}

std::optional<Fault> rondo::faultOfArenas(const std::vector<int64_t> &devices,
                                          const std::vector<int64_t> &arenas) {
  const std::vector<int64_t> excess = excessOver(devices, arenas);
  const auto worst = std::max_element(excess.begin(), excess.end());
  if (worst == excess.end() || *worst == 0)
    return std::nullopt;
  Fault fault = makeFault<FaultKind::NoProgramFits>(
      *std::max_element(arenas.begin(), arenas.end()));
  const auto rank = static_cast<int32_t>(worst - excess.begin());
  fault.rank = rank;
  fault.found = arenas[rank];
  fault.allowed = devices[rank];
  return fault;
}

PlanArenas::PlanArenas(const PlanFigures &plan, const Problem &problem,
                       int64_t maxActions)
    : plan(plan.declaresWeights ? &plan : nullptr), problem(&problem),
      maxActions(maxActions),
      mayBlock(plan.declaresWeights && rondo::mayBlock(plan, problem)) {}

std::optional<std::vector<int64_t>>
PlanArenas::of(const Schedule &schedule) const {
  if (!plan || schedule.numActions() > maxActions)
    return std::nullopt;
  return arenaOf(*plan, *problem, schedule);
}

bool PlanArenas::run(const Schedule &schedule) const {
  return !mayBlock || schedule.numActions() > maxActionsToLower ||
         !findBlocked(*plan, *problem, schedule);
}

PlanArenas PlanArenas::ofLargeSchedules() const {
  PlanArenas large = *this;
  large.maxActions = maxActionsToLowerOnce;
  return large;
}
