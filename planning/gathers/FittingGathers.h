//===- FittingGathers.h - Residencies whose programs fit --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GATHERS_FITTINGGATHERS_H
#define RONDO_PLANNING_GATHERS_FITTINGGATHERS_H

#include "planning/PlanArenas.h"
#include "schedule/gathers/PlaceGathers.h"

#include <functional>
#include <optional>
#include <string>

namespace rondo {

/// chooseResidencies() tries only a few numbers of chunks for orders of more
/// actions.
inline constexpr int64_t maxActionsToTryAll = int64_t(1) << 20;

/// The residency with the shortest time within the memory caps; among equals
/// the one with the least memory, then with the fewest gathers. If none is
/// within the caps, the one with the least memory. Tries all numbers of chunks
/// of a rank; O(chunks^2) simulations.
///
/// If a cap is in the way of some numbers, also tries them with fewer on the
/// ranks whose caps they exceed, and takes that if it is shorter than the same
/// numbers on all ranks; as many simulations again.
Residencies chooseResidencies(const Problem &problem, const Schedule &schedule);

/// `gathers<weights = [2, 1], gradients = 1>`: one number where all ranks have
/// the same.
std::string textOf(const Residencies &residencies);

/// Numbers with which the programs fit their devices.
struct FittingResidencies {
  Residencies residencies;
  /// Set if memory is in the way of faster ones: which, and by how many bytes
  /// they exceed the cap or the device of the rank that lacks most; or if their
  /// programs do not run: no rank.
  struct Lack {
    Residencies fastest;
    int32_t rank = -1;
    int64_t bytes = 0;
  };
  std::optional<Lack> lack;
};

/// What was taken, and which is in the way of the faster ones; needs `lack`.
std::string describe(const FittingResidencies &chosen);

/// Fixes some of the numbers.
using FixResidencies = std::function<Residencies(Residencies)>;

/// The same as chooseResidencies(); if the arenas of that choice are larger
/// than devices, the next best that holds less on these ranks, and so on, at
/// most 12 times. Then one chunk at a time, then one micro-batch at a time,
/// also if nothing else keeps the caps. If nothing fits, what lacks least.
/// Arenas that are not known count as fitting, and programs that do not run as
/// lacking most. `fix` is applied to all that is tried.
FittingResidencies chooseFitting(const Problem &problem,
                                 const Schedule &schedule,
                                 const PlanArenas &arenas,
                                 const FixResidencies &fix = {});

/// Moves residencies and lookahead, group by group, while that makes the order
/// shorter, or as long with less memory or traffic, or lets it fit the caps if
/// it did not. `fits` is asked before a move is taken. At most `trials`
/// simulations, which it counts down.
Residencies improveResidencies(
    const Problem &problem, const Schedule &schedule, const Residencies &start,
    const std::function<bool(const Schedule &)> &fits, int64_t &trials);

/// The order with gathers of the residencies that chooseFitting() returns, if
/// stages are sharded and it has none; else the order itself. It must keep S1
/// to S3. `taken`, if not null, is set to what was chosen, if anything was.
Schedule withGathers(const Problem &problem, Schedule schedule,
                     const PlanArenas &arenas = {},
                     std::optional<FittingResidencies> *taken = nullptr);

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_FITTINGGATHERS_H
