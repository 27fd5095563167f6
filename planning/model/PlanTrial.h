//===- PlanTrial.h - The best known schedule of a plan ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_PLANTRIAL_H
#define RONDO_PLANNING_MODEL_PLANTRIAL_H

#include "planning/model/ModelSpace.h"
#include "schedule/families/Family.h"

#include <algorithm>
#include <utility>

namespace rondo {

/// A plan with the fastest schedule that fits, of those that were tried.
struct PlanTrial {
  LaidPlan laid;
  std::optional<Schedule> schedule;
  /// `zb-h1`; empty for a schedule that a search has found.
  std::string family;
  /// An iteration of the compiled program, with its messages and sums.
  int64_t timeNs = 0;
  /// What the programs allocate, by rank.
  std::vector<int64_t> arenaBytes;
  /// Where no schedule fits: what the rank with least room lacks of the
  /// schedule that lacks least, or 0 where memory is not the reason; and why.
  int64_t missingBytes = 0;
  std::string reason;
  /// There are schedules with enough memory, but they take more than the
  /// ceiling.
  bool isSlow = false;

  bool fits() const { return schedule.has_value(); }
  int64_t fullestBytes() const {
    return arenaBytes.empty()
               ? 0
               : *std::max_element(arenaBytes.begin(), arenaBytes.end());
  }
  /// Less time, or as much with less memory.
  bool isBetterThan(const PlanTrial &other) const {
    return std::pair(timeNs, fullestBytes()) <
           std::pair(other.timeNs, other.fullestBytes());
  }
  /// Replaces the schedule by a faster one whose programs fit; false if this is
  /// none. O(actions).
  bool improve(Schedule other, std::string family);
};

/// Tries the families that apply, promise the sequential run's bits and take
/// little time to write, the fastest first, and none that takes more than
/// `ceilingNs`. O(families * actions).
PlanTrial tryPlan(LaidPlan laid, const std::vector<FamilyChoice> &choices,
                  int64_t ceilingNs = std::numeric_limits<int64_t>::max());

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_PLANTRIAL_H
