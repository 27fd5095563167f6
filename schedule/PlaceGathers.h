//===- PlaceGathers.h - Gathers and reductions in an order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks of stages whose state is sharded need weights that are gathered, and
// make gradients that are reduced (Shards.h). Where, is a decision that trades
// memory for traffic: the more chunks of a rank are whole at once, the less
// often they are gathered and reduced.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PLACEGATHERS_H
#define RONDO_SCHEDULE_PLACEGATHERS_H

#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <vector>

namespace rondo {

/// How many chunks of a rank are whole at once. Of 0, a chunk is whole for the
/// tasks of one micro-batch that follow each other, as where FSDP reshards
/// after each forward and backward.
struct Residency {
  /// Whose weights are gathered, with one that is gathered ahead of its use.
  int32_t weights = 2;
  /// Whose gradients are not yet reduced.
  int32_t gradients = 1;
  /// How many of the whole chunks may be gathered ahead of their use. Fewer
  /// than `weights` - 1: a chunk that is used next stays, but one that is not
  /// there is gathered later, which takes less memory and hides less.
  int32_t ahead = allAhead;

  static constexpr int32_t allAhead = -1;

  friend bool operator==(Residency a, Residency b) {
    return a.weights == b.weights && a.gradients == b.gradients &&
           a.ahead == b.ahead;
  }
};

/// By rank; a single one: the same on all. Ranks that share state have the
/// same.
using Residencies = std::vector<Residency>;

/// Writes gathers and reductions into an order that has none; a rank's whole
/// chunks are those that it uses next. A chunk is gathered as soon as it is one
/// of them, and freed when it is none any more or has no further use; gradients
/// likewise. Stages with ShardedState::Gradients or less keep what they have
/// gathered, those with Optimizer also their gradients, until their last use.
/// (ZeroPP, Tang et al. 2024, frees a chunk after its last forward of a unit
/// unless its backward follows, and again after the last backward; torch's
/// pipelines look ahead for three chunks in the same way as here.)
///
/// Homes of a group with the same order of tasks get the same gathers.
/// O(actions * chunks).
Schedule placeGathers(const Problem &problem, const Schedule &schedule,
                      const Residencies &residencies);

/// Writes gathers and reductions for units of `unit` micro-batches, however
/// many chunks are then whole (ZeroPP's rule, as we read it). A chunk is
/// gathered for its Fs of a unit, and again for its backwards, one such phase
/// of its rank ahead of the first task that reads it. It is freed after the
/// phase, unless the rank's next F, I or B is its own; its gradients are
/// reduced after its last W or B of the unit. Phases of one chunk that overlap
/// share a gather: since W reads weights, those of a unit may run among the Fs
/// of the next. So V chunks are gathered up to 2 V - 1 times a unit where the
/// last one's backwards follow its Fs. Stages with less in pieces are gathered
/// once. O(actions + phases * log phases).
Schedule placeGathersByUnit(const Problem &problem, const Schedule &schedule,
                            int64_t unit);

/// What an order gathers and reduces.
struct GatherCounts {
  int64_t gathers = 0, reductions = 0;
  /// That leave ranks for other ranks, all together: (g - 1) / g of what is
  /// gathered or reduced, by each of g homes, and where a stage has r groups,
  /// 2 (r - 1) / r of the pieces that these add.
  int64_t bytes = 0;
};
GatherCounts countGathers(const Problem &problem, const Schedule &schedule);
/// Those of one rank.
GatherCounts countGathers(const Problem &problem, ActionRange order);

/// The same problem with whole state, and caps that leave room for one chunk of
/// each rank, gathered, with its gradients: what can be searched before gathers
/// are placed.
Problem withWholeState(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_PLACEGATHERS_H
