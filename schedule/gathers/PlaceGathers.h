//===- PlaceGathers.h - Gathers and reductions in an order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks of stages with sharded state need gathered weights, and make gradients
// that are reduced (Shards.h). The places of gathers and reductions trade
// memory for traffic: the more chunks of a rank are whole at once, the less
// often they are gathered and reduced.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_GATHERS_PLACEGATHERS_H
#define RONDO_SCHEDULE_GATHERS_PLACEGATHERS_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <vector>

namespace rondo {

/// Number of chunks of a rank that are whole at once. With 0, a chunk is whole
/// for consecutive tasks of one micro-batch, like in FSDP, which reshards after
/// each forward and backward.
struct Residency {
  /// Chunks with gathered weights, including one that is gathered ahead of its
  /// use.
  int32_t weights = 2;
  /// Chunks with unreduced gradients.
  int32_t gradients = 1;
  /// Maximum number of chunks that are gathered ahead of their use. If it is
  /// below `weights` - 1, a whole chunk that is used next stays whole, but
  /// other chunks are gathered later; this takes less memory and hides less of
  /// the gather.
  int32_t ahead = allAhead;

  static constexpr int32_t allAhead = -1;

  friend bool operator==(Residency a, Residency b) {
    return a.weights == b.weights && a.gradients == b.gradients &&
           a.ahead == b.ahead;
  }
};

/// [rank]; a single element applies to all ranks. Ranks that share state have
/// equal elements.
using Residencies = std::vector<Residency>;

/// Adds gathers and reductions to an order that has none. The whole chunks of a
/// rank are those that it uses next. A chunk is gathered as soon as it is one
/// of them, and freed when it is none of them any more or has no further use;
/// the same holds for gradients. Stages with ShardedState::Gradients or less
/// keep gathered weights until their last use, and stages with Optimizer also
/// their gradients. ZeroPP (Tang et al. 2024) frees a chunk after its last
/// forward of a unit unless its backward follows, and again after the last
/// backward. PyTorch's pipelines look ahead for three chunks in the same way as
/// this function.
///
/// Replicas of a group with the same order of tasks get the same gathers.
/// O(actions * chunks).
Schedule placeGathers(const Problem &problem, const Schedule &schedule,
                      const Residencies &residencies);

/// Adds gathers and reductions for units of `unit` micro-batches, without a
/// limit on whole chunks (ZeroPP's rule, as we read it). A chunk is gathered
/// for its Fs of a unit, and again for the backwards of the unit. Each gather
/// is one such phase of the rank ahead of the first task that reads it. The
/// chunk is freed after the phase, unless the rank's next F, I or B belongs to
/// it. Its gradients are reduced after its last W or B of the unit. Overlapping
/// phases of one chunk share a gather: W reads weights, so the Ws of a unit may
/// run among the Fs of the next. V chunks are gathered up to 2 V - 1 times a
/// unit if the backwards of the last chunk follow its Fs. Stages that do not
/// shard weights are gathered once. O(actions + phases * log phases).
Schedule placeGathersByUnit(const Problem &problem, const Schedule &schedule,
                            int64_t unit);

/// The gathers and reductions of an order.
struct GatherCounts {
  int64_t gathers = 0, reductions = 0;
  /// Bytes sent between ranks, in total: each of g replicas sends (g - 1) / g
  /// of what is gathered or reduced; if a stage has r groups, each also sends 2
  /// (r - 1) / r of its shard when the groups add their shards.
  int64_t bytes = 0;
};
GatherCounts countGathers(const Problem &problem, const Schedule &schedule);
/// Counts of one rank.
GatherCounts countGathers(const Problem &problem, ActionRange order);

/// The problem with whole state, for searching an order before gathers are
/// placed. The cap of each rank is lowered by its largest gathered chunk with
/// its gradients.
Problem withWholeState(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_GATHERS_PLACEGATHERS_H
