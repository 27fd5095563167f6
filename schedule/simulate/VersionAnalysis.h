//===- VersionAnalysis.h - Weight versions of all tasks ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derives from a window's order and its stages' policies: the version that
// every task reads, the delay of its gradient, and the number of versions that
// a stage stores.
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

/// Delays of a replica's tasks of a kind: the updates between the version that
/// a task reads and the version that the step of its iteration changes.
struct Delays {
  int64_t least = 0, most = 0;
  /// Sum and number of the delays from the first iteration with the largest
  /// delay on. They give the exact mean of a long run.
  int64_t sum = 0, number = 0;

  double mean() const { return number ? double(sum) / double(number) : 0; }
};

struct ReplicaVersions {
  /// [micro-batch]: the version that F reads, that I, W or B reads, and that R
  /// reads; `recompute` equals `forward` if the replica does not recompute.
  std::vector<int32_t> forward, backward, recompute;
  Delays forwardDelay, backwardDelay, recomputeDelay;
  /// Maximum number of versions stored at once: the newest, and older ones that
  /// a later task reads.
  int32_t copies = 1;
  /// Number of slots needed if version v is stored in slot v modulo this number
  /// and no step may overwrite a version that a later task reads. At least
  /// `copies`.
  int32_t slots = 1;
  /// Whether every backward reads the version that its forward read.
  bool isHorizontal = true;

  /// The versions that tasks of a kind read.
  const std::vector<int32_t> &readBy(ActionKind kind) const {
    return kind == ActionKind::Forward     ? forward
           : kind == ActionKind::Recompute ? recompute
                                           : backward;
  }
};

struct VersionAnalysis {
  /// Indexed by replica.
  std::vector<ReplicaVersions> replicas;
  /// Whether all F of a micro-batch read the same version, and whether all I
  /// and B do.
  bool areForwardsVertical = true, areBackwardsVertical = true;
};

/// Maxima over a stage's replicas: versions stored, and delays of tasks in
/// updates; recomputeDelay is 0 if the stage does not recompute.
struct StageVersions {
  int64_t copies = 1, forwardDelay = 0, backwardDelay = 0, recomputeDelay = 0;
};
/// Indexed by stage.
std::vector<StageVersions> stageVersions(const Problem &problem,
                                         const VersionAnalysis &versions);

/// Preconditions: `simulation` is the schedule's, complete and with times; the
/// schedule satisfies S1 to S4; it has the steps of all iterations, or there is
/// one iteration. Returns a fault of rule S8 if a task would read a version
/// that its stage has not made yet, or one that is older than its policy
/// allows. With `fixed`, tasks read the versions of that table, whatever their
/// policies. O(actions + replicas * micro-batches).
Result<VersionAnalysis> analyzeVersions(const Problem &problem,
                                        const Schedule &schedule,
                                        const Simulation &simulation,
                                        const DelayTable *fixed = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_VERSIONANALYSIS_H
