//===- PlanArenas.h - Whether a plan's schedules fit ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANARENAS_H
#define RONDO_PLANNING_PLANARENAS_H

#include "lowering/Lowering.h"

#include <optional>
#include <vector>

namespace rondo {

/// Schedules with more actions take too long to lower for a choice among many.
inline constexpr int64_t maxActionsToLower = 50000;
/// And those with more than this too long for a choice at all.
inline constexpr int64_t maxActionsToLowerOnce = int64_t(1) << 20;

/// By rank: the bytes by which `heldBytes` exceed the limit; 0 if they do not,
/// or if the limit is noMemoryCap.
std::vector<int64_t> excessOver(const std::vector<int64_t> &limits,
                                const std::vector<int64_t> &heldBytes);
/// The fault NoProgramFits of the rank whose arena exceeds its device most;
/// nothing if all fit. Bytes by rank.
std::optional<Fault> faultOfArenas(const std::vector<int64_t> &devices,
                                   const std::vector<int64_t> &arenas);

/// What programs of a plan's schedules allocate beyond the problem's caps, and
/// whether they run. Programs allocate messages too, and lay buffers into
/// slots. Refers to the plan and its problem.
class PlanArenas {
public:
  /// No programs are known: only caps limit schedules.
  PlanArenas() = default;
  /// Of a plan that declares no weights, no programs are known either.
  /// Schedules with more than `maxActions` actions are not lowered.
  PlanArenas(const PlanFigures &plan, const Problem &problem,
             int64_t maxActions = maxActionsToLower);

  bool areKnown() const { return plan != nullptr; }
  /// Bytes by rank of the devices. Needs areKnown().
  const std::vector<int64_t> &devices() const { return plan->devices; }
  /// What the programs of a legal schedule allocate, in bytes by rank; nothing
  /// if that is not known. O(actions).
  std::optional<std::vector<int64_t>> of(const Schedule &schedule) const;
  /// Whether the programs of a legal schedule run to their end, however few
  /// launches of a rank may be in flight (L2, L6). Schedules with more than
  /// maxActionsToLower actions count as running. O(actions).
  bool run(const Schedule &schedule) const;
  /// The same for schedules of up to maxActionsToLowerOnce actions; lowering
  /// one may take seconds.
  PlanArenas ofLargeSchedules() const;

private:
  const PlanFigures *plan = nullptr;
  const Problem *problem = nullptr;
  int64_t maxActions = 0;
  bool mayBlock = false;
};

} // namespace rondo

#endif // RONDO_PLANNING_PLANARENAS_H
