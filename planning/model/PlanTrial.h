//===- PlanTrial.h - The best known schedule of a plan ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_PLANTRIAL_H
#define RONDO_PLANNING_MODEL_PLANTRIAL_H

#include "planning/model/ModelSpace.h"
#include "schedule/families/Family.h"

#include <algorithm>
#include <utility>

namespace rondo {

/// The schedule of a family that does not fit the devices.
struct Misfit {
  std::string family;
  /// Makespan of its order.
  int64_t timeNs = 0;
  /// [group]: the most bytes of activations that a rank of the group holds; and
  /// by how much a rank exceeds its memory, 0 or less if all fit.
  std::vector<int64_t> heldBytes, excessBytes;
};

/// A plan with the fastest of the tried schedules that fit.
struct PlanTrial {
  LaidPlan laid;
  std::optional<Schedule> schedule;
  /// `zb-h1`; empty if a search found the schedule.
  std::string family;
  /// Whether the family writes another schedule: the copies of this one leave
  /// memory for messages too.
  bool isOwnOrder = false;
  /// Time of an iteration of the compiled program, with its messages and sums.
  int64_t timeNs = 0;
  /// [rank]: bytes of its arena, and of what its copies leave on the host;
  /// the latter is empty without copies.
  std::vector<int64_t> arenaBytes, hostBytes;
  /// If no schedule fits: the missing bytes of the schedule that lacks the
  /// least memory, on the rank that lacks most, or 0 if memory is not the
  /// reason; and the reason.
  int64_t missingBytes = 0;
  /// If its programs were written: that rank, and the memory of the largest
  /// arena that does not fit. Otherwise -1.
  int32_t shortRank = -1;
  int64_t neededBytes = 0;
  std::string reason;
  /// Schedules without enough memory that are faster than `schedule`, the
  /// fastest first.
  std::vector<Misfit> misfits;
  /// Whether all schedules with enough memory exceed the ceiling.
  bool isSlow = false;

  bool fits() const { return schedule.has_value(); }
  /// The most bytes on the host of a rank.
  int64_t fullestHostBytes() const {
    return hostBytes.empty()
               ? 0
               : *std::max_element(hostBytes.begin(), hostBytes.end());
  }
  int64_t fullestBytes() const {
    return arenaBytes.empty()
               ? 0
               : *std::max_element(arenaBytes.begin(), arenaBytes.end());
  }
  /// Whether it takes less time, or equal time with less memory.
  bool isBetterThan(const PlanTrial &other) const {
    return std::pair(timeNs, fullestBytes()) <
           std::pair(other.timeNs, other.fullestBytes());
  }
  /// Replaces the schedule if `other` is faster and its programs fit; returns
  /// whether it did. O(actions).
  bool improve(Schedule other, std::string family);
  /// Adds copies to an order without them, as `FAMILY:offload=fit` or `=all`
  /// does, and improves with the result. If its programs do not fit, the copies
  /// leave more memory free. Returns the figures of the last schedule with
  /// copies if none fits. O(actions * log(actions) + pairs^2).
  std::optional<Misfit> improveByCopies(const Schedule &plain,
                                        const std::string &family,
                                        OffloadOptions::Pairs pairs,
                                        int64_t ceilingNs);

private:
  /// improve() with the programs of the schedule.
  bool take(Schedule other, std::string family, ProvedPrograms proved);
  void noteShortage(const std::vector<int64_t> &excessBytes,
                    const std::vector<int64_t> &arenas);
};

/// Tries the `choices` that apply, give the sequential run's bits and take at
/// most maxFamilySteps to write, the fastest first, up to `ceilingNs`. If the
/// plan has stages that may copy to their hosts, those that lack memory are
/// also tried with copies. O(families * actions).
PlanTrial tryPlan(LaidPlan laid, const std::vector<FamilyChoice> &choices,
                  int64_t ceilingNs = std::numeric_limits<int64_t>::max());

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_PLANTRIAL_H
