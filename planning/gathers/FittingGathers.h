//===- FittingGathers.h - Residencies whose programs fit --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GATHERS_FITTINGGATHERS_H
#define RONDO_PLANNING_GATHERS_FITTINGGATHERS_H

#include "lowering/ReferenceOrders.h"
#include "planning/PlanArenas.h"
#include "schedule/gathers/PlaceGathers.h"

#include <functional>
#include <optional>
#include <string>

namespace rondo {

/// For orders with more actions, chooseResidencies() tries only a few numbers
/// of chunks.
inline constexpr int64_t maxActionsToTryAll = int64_t(1) << 20;

/// The residency with the shortest time within the memory caps; among equals
/// the one with the least memory, then with the fewest gathers. If none is
/// within the caps, the one with the least memory. Tries all numbers of chunks
/// of a rank; O(chunks^2) simulations.
///
/// If some numbers exceed caps, also tries them with fewer chunks on the ranks
/// concerned, and takes that if it is faster than equal numbers on all ranks;
/// the same number of simulations again.
Residencies chooseResidencies(const Problem &problem, const Schedule &schedule);

/// `gathers<weights = [2, 1], gradients = 1>`: one number if all ranks have the
/// same.
std::string textOf(const Residencies &residencies);

/// Residencies whose programs fit their devices.
struct FittingResidencies {
  Residencies residencies;
  /// Set if faster residencies do not fit: the fastest of these, the rank that
  /// exceeds its cap or device by the most bytes, and these bytes. `rank` is -1
  /// if the programs of `fastest` do not run.
  struct Lack {
    Residencies fastest;
    int32_t rank = -1;
    int64_t bytes = 0;
  };
  std::optional<Lack> lack;
};

/// The residencies taken, and why faster ones do not fit; needs `lack`.
std::string describe(const FittingResidencies &chosen);

/// Overrides some values of given residencies.
using FixResidencies = std::function<Residencies(Residencies)>;

/// As chooseResidencies(), within the devices. If the arenas of the best choice
/// are larger than devices, tries the next best that holds less on these ranks,
/// at most 12 times. If none of them fits or keeps the caps, tries one whole
/// chunk at a time, then none. If nothing fits, returns the residencies that
/// lack the fewest bytes. Unknown arenas count as fitting; programs that do not
/// run count as lacking most. `fix` is applied to all residencies that are
/// tried.
FittingResidencies chooseFitting(const Problem &problem,
                                 const Schedule &schedule,
                                 const PlanArenas &arenas,
                                 const FixResidencies &fix = {});

/// Local search over residencies, the numbers of gathered chunks per rank, and
/// over `ahead`, one group of ranks at a time. Accepts a change if `fits`
/// returns true for the new order and the change either shortens the makespan,
/// or keeps it with less memory or traffic, or makes the order keep the caps.
/// Runs at most `trials` simulations; `trials` is reduced by the number run.
Residencies improveResidencies(
    const Problem &problem, const Schedule &schedule, const Residencies &start,
    const std::function<bool(const Schedule &)> &fits, int64_t &trials);

/// The order with gathers of the residencies that chooseFitting() returns, if
/// stages are sharded and the order has no gathers yet; else the order itself.
/// It must keep rules S1 to S3. `taken`, if not null, is set to the chosen
/// residencies, if any.
Schedule withGathers(const Problem &problem, Schedule schedule,
                     const PlanArenas &arenas = {},
                     std::optional<FittingResidencies> *taken = nullptr);

/// An order that adds gradients in the same units as another one with the same
/// micro-batches, so that both can share a reference: the order itself if it
/// does so, or its tasks with gathers and reductions of their own; nothing if
/// no number of chunks with unreduced gradients gives these units. The order
/// must keep rules S1 to S3.
std::optional<Schedule> withGathersLike(const Units &units,
                                        const Problem &problem,
                                        const Schedule &schedule,
                                        const PlanArenas &arenas = {});

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_FITTINGGATHERS_H
