//===- Units.h - How many micro-batches a unit has --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `blockwise` cuts an iteration into units of U micro-batches (ZeroPP, Tang et
// al., arXiv 2402.03791). A longer unit leaves less of a bubble, and gathers
// and reduces the state of sharded stages less often, but holds more
// activations. Which U is best depends on the plan's times, links and memory,
// so it is tried.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GATHERS_UNITS_H
#define RONDO_PLANNING_GATHERS_UNITS_H

#include "planning/PlanArenas.h"
#include "schedule/Family.h"

#include <limits>
#include <optional>
#include <vector>

namespace rondo {

inline constexpr int64_t noUnit = std::numeric_limits<int64_t>::max();

/// What a rank moves of a chunk's state, and how long what runs beside it takes
/// for each micro-batch of a unit.
struct Beside {
  int64_t moveNs = 0, taskNs = 0;

  /// The fewest micro-batches that take as long; noUnit where none do.
  int64_t leastUnit() const {
    return moveNs == 0  ? 1
           : taskNs > 0 ? (moveNs + taskNs - 1) / taskNs
                        : noUnit;
  }
  /// The move as a part of the tasks of a unit: up to 1 it can hide.
  double partOf(int64_t unit) const {
    return moveNs == 0 ? 0 : double(moveNs) / (double(taskNs) * double(unit));
  }
};

/// Where gathers and reductions hide worst, of all ranks. A chunk is gathered
/// while the one before it on its rank runs U forwards, and its gradients are
/// reduced while that one runs the longer of U Is and U Ws: so a gather hides
/// if it takes at most U F, a reduction if it takes at most U max(I, W).
struct Hiding {
  Beside gather, reduction;

  int64_t leastUnit() const {
    return std::max(gather.leastUnit(), reduction.leastUnit());
  }
};
Hiding hidingOf(const Problem &problem);

/// What keeps a schedule of units from being better.
enum class UnitLimit : uint8_t {
  /// Ranks are never idle.
  Nothing,
  /// Ranks are idle longer for want of work than for gathers and reductions.
  Bubble,
  /// The other way round.
  Traffic,
  /// It does not fit.
  Memory,
};

/// `blockwise` with units of one size.
struct UnitCandidate {
  int64_t unit = 0;
  /// Why there is no order; then all else is 0. Not for memory that lacks.
  std::optional<Fault> fault;
  int64_t makespanNs = 0;
  /// Of the makespan: how long the busiest rank has no work if gathers and
  /// reductions take no time, and what these add.
  int64_t idleNs = 0, exposedNs = 0;
  /// Most bytes held by rank, beside state.
  std::vector<int64_t> peakBytes;
  /// Bytes by rank of the arenas of its programs; empty where not planned.
  std::vector<int64_t> arenaBytes;
  /// By how much the rank that lacks most exceeds its memory; 0: it fits.
  int64_t missingBytes = 0;
  int32_t missingOn = -1;
  /// What the rank that moves most gathers and reduces, and the bytes of it
  /// that come from other ranks.
  int64_t gathers = 0, reductions = 0, trafficBytes = 0;

  bool fits() const { return !fault && missingBytes == 0; }
  UnitLimit limit() const;
};

/// Sizes that can be best, ascending, from 1 to the number of micro-batches:
/// equal units, those that are known to leave no bubble under equal times (P,
/// 2P - 2 and 2P - 1 for P ranks), the shortest that hides gathers and
/// reductions, and what memory has room for.
std::vector<int64_t> unitsWorthTrying(const Problem &problem);

/// An order of units of each size, with gathers placed where they are best
/// (withGathers); it must fit the problem's caps and the plan's devices. If
/// orders are too large for `arenas` to lower all, it lowers the best, and the
/// next best until one fits. O(sizes) of those.
std::vector<UnitCandidate> rateUnits(const Problem &problem,
                                     const std::vector<int64_t> &units,
                                     const PlanArenas &arenas = {});

/// The shortest that fits; among equals the one with the least memory, then
/// with the least traffic, then the shortest unit. Where none fits, the one
/// that lacks least; nothing where there is no order.
std::optional<size_t> bestUnit(const std::vector<UnitCandidate> &candidates);

/// The choice with numbers for arguments that are `auto`: those that are best
/// on a problem that has passed check(), within its caps and the plan's
/// devices. May simulate many orders.
Result<FamilyChoice> withNumbers(const FamilyChoice &choice,
                                 const Problem &problem,
                                 const PlanArenas &arenas = {});

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_UNITS_H
