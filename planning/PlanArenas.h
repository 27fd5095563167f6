//===- PlanArenas.h - Whether a plan's schedules fit ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANARENAS_H
#define RONDO_PLANNING_PLANARENAS_H

#include "lowering/Lowering.h"

#include <optional>
#include <vector>

namespace rondo {

/// Maximum number of actions of a schedule that is lowered if many schedules
/// are compared.
inline constexpr int64_t maxActionsToLower = 50000;
/// Maximum number of actions of a schedule that is lowered if only a few are
/// compared.
inline constexpr int64_t maxActionsToLowerOnce = int64_t(1) << 20;

/// [rank]: the bytes by which `heldBytes` exceed the limit; 0 if they do not,
/// or if the limit is noMemoryCap.
std::vector<int64_t> excessOver(const std::vector<int64_t> &limits,
                                const std::vector<int64_t> &heldBytes);
/// The fault NoProgramFits of the rank whose arena exceeds its device most;
/// nothing if all fit. Both arguments are in bytes by rank.
std::optional<Fault> faultOfArenas(const std::vector<int64_t> &devices,
                                   const std::vector<int64_t> &arenas);

/// The arenas of programs of a plan's schedules, and whether the programs run.
/// Arenas include messages and the gaps between slots, which the problem's caps
/// do not count. Refers to the plan and its problem.
class PlanArenas {
public:
  /// Arenas are unknown: programs are not lowered, and schedules are checked
  /// against the memory caps only.
  PlanArenas() = default;
  /// Arenas are also unknown if the plan declares no weights. Schedules with
  /// more than `maxActions` actions are not lowered.
  PlanArenas(const PlanFigures &plan, const Problem &problem,
             int64_t maxActions = maxActionsToLower);

  bool areKnown() const { return plan != nullptr; }
  /// The devices' memory, in bytes by rank. Needs areKnown().
  const std::vector<int64_t> &devices() const { return plan->devices; }
  /// The arenas of the programs of a legal schedule, in bytes by rank; nothing
  /// if unknown. O(actions).
  std::optional<std::vector<int64_t>> of(const Schedule &schedule) const;
  /// Whether the programs of a legal schedule run to their end, with the plan's
  /// channels and launches in flight (rules L2, L6). Schedules with more than
  /// maxActionsToLower actions count as running. O(actions).
  bool run(const Schedule &schedule) const;
  /// A copy for schedules of up to maxActionsToLowerOnce actions; lowering one
  /// of these may take seconds.
  PlanArenas ofLargeSchedules() const;

private:
  const PlanFigures *plan = nullptr;
  const Problem *problem = nullptr;
  int64_t maxActions = 0;
  bool mayBlock = false;
};

} // namespace rondo

#endif // RONDO_PLANNING_PLANARENAS_H
