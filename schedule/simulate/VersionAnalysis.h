//===- VersionAnalysis.h - Which weights every task reads -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows from a window's order and the policies of its stages: the
// version that every task reads, how late its gradient is, and how many
// versions a stage keeps.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_VERSIONANALYSIS_H
#define RONDO_SCHEDULE_SIMULATE_VERSIONANALYSIS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/simulate/Simulator.h"

#include <optional>
#include <vector>

namespace rondo {

struct DelayTable;

/// Updates between the version that a task reads and the one that the step of
/// its iteration changes, over the micro-batches of a replica.
struct Delays {
  int64_t least = 0, most = 0;
  /// Of the micro-batches from the first whose delay is the largest on: what a
  /// long run settles to. Their sum and number, so that the mean is exact.
  int64_t sum = 0, number = 0;

  double mean() const { return number ? double(sum) / double(number) : 0; }
};

struct ReplicaVersions {
  /// By micro-batch: what F, what I, W or B, and what R reads; that of F where
  /// the replica does not recompute.
  std::vector<int32_t> forward, backward, recompute;
  Delays forwardDelay, backwardDelay, recomputeDelay;
  /// The most versions that are kept at once: the newest, and older ones that
  /// a later task reads.
  int32_t copies = 1;
  /// Slots that are needed where version v lies in slot v modulo their number,
  /// so that no step writes over what a later task reads; at least `copies`.
  int32_t slots = 1;
  /// Every backward reads what its forward has read.
  bool isHorizontal = true;

  /// What tasks of a kind read.
  const std::vector<int32_t> &readBy(ActionKind kind) const {
    return kind == ActionKind::Forward     ? forward
           : kind == ActionKind::Recompute ? recompute
                                           : backward;
  }
};

struct VersionAnalysis {
  /// By replica.
  std::vector<ReplicaVersions> replicas;
  /// All F of a micro-batch read the same version; and all I and B of it.
  bool areForwardsVertical = true, areBackwardsVertical = true;
};

/// Of all replicas of a stage: the most versions that one keeps, and the most
/// updates that a task is late; 0 for R of a stage without it.
struct StageVersions {
  int64_t copies = 1, forwardDelay = 0, backwardDelay = 0, recomputeDelay = 0;
};
/// By stage.
std::vector<StageVersions> stageVersions(const Problem &problem,
                                         const VersionAnalysis &versions);

/// `simulation` is the schedule's, complete and with times. The schedule must
/// keep S1 to S4 and have the steps of all iterations, or there is one
/// iteration. A fault of rule S8 where a task would read a version that its
/// stage does not have yet, or one that is older than its policy allows.
/// With `fixed`, tasks read what it says, whatever their policies.
/// O(actions + replicas * micro-batches).
Result<VersionAnalysis> analyzeVersions(const Problem &problem,
                                        const Schedule &schedule,
                                        const Simulation &simulation,
                                        const DelayTable *fixed = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_VERSIONANALYSIS_H
