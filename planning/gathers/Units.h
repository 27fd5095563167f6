//===- Units.h - Number of micro-batches in a unit --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `blockwise` cuts an iteration into units of U micro-batches (ZeroPP, Tang et
// al., arXiv 2402.03791). A longer unit leaves less of a bubble, and gathers
// and reduces the state of sharded stages less often, but holds more
// activations. The best U depends on the plan's times, links and memory, so
// several are simulated.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GATHERS_UNITS_H
#define RONDO_PLANNING_GATHERS_UNITS_H

#include "planning/PlanArenas.h"
#include "schedule/families/Family.h"

#include <limits>
#include <optional>
#include <vector>

namespace rondo {

inline constexpr int64_t noUnit = std::numeric_limits<int64_t>::max();

/// Time to gather or reduce a chunk, and time per micro-batch of the tasks that
/// run at the same time.
struct Beside {
  int64_t moveNs = 0, taskNs = 0;

  /// The fewest micro-batches whose tasks take as long as the move; noUnit if
  /// none do.
  int64_t leastUnit() const {
    return moveNs == 0  ? 1
           : taskNs > 0 ? (moveNs + taskNs - 1) / taskNs
                        : noUnit;
  }
  /// The time of the move divided by that of the tasks of a unit. Up to 1, the
  /// move can be hidden.
  double partOf(int64_t unit) const {
    return moveNs == 0 ? 0 : double(moveNs) / (double(taskNs) * double(unit));
  }
};

/// The worst-hidden gather and reduction of all ranks. A chunk is gathered
/// while the one before it on its rank runs U forwards, and its gradients are
/// reduced while that one runs the longer of U Is and U Ws. So a gather is
/// hidden if it takes at most U F, and a reduction if it takes at most U max(I,
/// W).
struct Hiding {
  Beside gather, reduction;

  int64_t leastUnit() const {
    return std::max(gather.leastUnit(), reduction.leastUnit());
  }
};
Hiding hidingOf(const Problem &problem);

/// The reason why a schedule of units is not faster.
enum class UnitLimit : uint8_t {
  /// The busiest rank is never idle.
  Nothing,
  /// Idle time is mostly lack of work.
  Bubble,
  /// Idle time is mostly gathers and reductions.
  Traffic,
  /// The schedule does not fit.
  Memory,
};

/// `blockwise` with units of one size.
struct UnitCandidate {
  int64_t unit = 0;
  /// Why no order exists; all other fields are then 0. Lack of memory is not a
  /// fault.
  std::optional<Fault> fault;
  int64_t makespanNs = 0;
  /// Parts of the makespan: the busiest rank's time without work if gathers and
  /// reductions take no time, and the time that these add.
  int64_t idleNs = 0, exposedNs = 0;
  /// [rank]: peak bytes, without state.
  std::vector<int64_t> peakBytes;
  /// [rank]: bytes of the arena of its programs; empty if not planned.
  std::vector<int64_t> arenaBytes;
  /// The largest number of bytes by which a rank exceeds its memory, 0 if all
  /// fit; `missingOn` is that rank.
  int64_t missingBytes = 0;
  int32_t missingOn = -1;
  /// Gathers and reductions of the rank with the most traffic, and the bytes
  /// that it exchanges with other ranks for them.
  int64_t gathers = 0, reductions = 0, trafficBytes = 0;

  bool fits() const { return !fault && missingBytes == 0; }
  UnitLimit limit() const;
};

/// Sizes that can be best, ascending, from 1 to the number of micro-batches:
/// equal units; sizes that leave no bubble under equal times (P, 2P - 2 and
/// 2P - 1 for P ranks); the smallest size that hides gathers and reductions;
/// and sizes that fill the memory.
std::vector<int64_t> unitsWorthTrying(const Problem &problem);

/// Simulates an order for each unit size, with gathers that fit the problem's
/// caps and the plan's devices (withGathers()). If orders are too large for
/// `arenas` to lower all, lowers the best, then the next best until one fits.
/// O(sizes) simulations and lowerings.
std::vector<UnitCandidate> rateUnits(const Problem &problem,
                                     const std::vector<int64_t> &units,
                                     const PlanArenas &arenas = {});

/// Index of the candidate with the shortest makespan that fits; ties go to the
/// least memory, then the least traffic, then the shortest unit. If none fits,
/// the one that lacks least; nullopt if no candidate has an order.
std::optional<size_t> bestUnit(const std::vector<UnitCandidate> &candidates);

/// Replaces `auto` arguments by the best numbers for a problem that has passed
/// check(), within its caps and the plan's devices. May simulate many orders.
Result<FamilyChoice> withNumbers(const FamilyChoice &choice,
                                 const Problem &problem,
                                 const PlanArenas &arenas = {});

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_UNITS_H
