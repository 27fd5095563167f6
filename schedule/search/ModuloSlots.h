//===- ModuloSlots.h - Launches on a grid of modulo slots -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If micro-batches pass all ranks in one order, once or several times, the F of
// a micro-batch are a wave down the ranks and its I a wave back up. Time is
// divided into modulo slots, each with room for one F and then one I on every
// rank. The waves move at a pace at which a step down and a step back up
// together take one modulo slot. Then the modulo slot in which a micro-batch is
// launched determines a modulo slot for each of its tasks, and micro-batches
// that do not collide on one rank collide on none. So the modulo slots of the
// launches determine the order of all ranks; W runs in the idle time.
//
// This reaches the rate to which memory limits a pipeline. Without modulo
// slots, waves collide, one of them waits, and its memory is held longer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_MODULOSLOTS_H
#define RONDO_SCHEDULE_SEARCH_MODULOSLOTS_H

#include "schedule/search/Orders.h"

namespace rondo {

/// Launches of all micro-batches, at modulo slots of one length.
class ModuloSlots {
public:
  /// Whether the stages are a chain over the ranks in one order, once or
  /// several times, and times are so short that sums of modulo slots do not
  /// overflow.
  static bool fit(const FlatProblem &flat);

  /// A modulo slot is `factor` times as long as the shortest one, and at least
  /// an eighth of the longest W. fit() must hold.
  ModuloSlots(const FlatProblem &flat, double factor);

  int64_t slotNs() const { return lengthNs; }

  /// Launches each micro-batch k at the first modulo slot, at least delays[k]
  /// slots after the one that follows the previous launch, at which the
  /// tightest rank has free slots and memory for all its tasks. Returns the end
  /// of that rank in ns if waves move on modulo slots; `never` if a micro-batch
  /// does not fit. O(modulo slots * stages).
  int64_t launch(const std::vector<int32_t> &delays);
  /// Cost of the last call of launch(), in tasks placed or timed.
  int64_t cost() const { return 1 + steps / 8; }

  /// The orders of the last launches. False if some rank cannot keep its cap.
  /// O(tasks + ranks * modulo slots).
  bool toOrders(Orders &orders);

private:
  /// A task of every micro-batch, `slot` modulo slots after its launch.
  struct Pass {
    Task task;
    int32_t stage, slot;
  };
  /// The tasks of a rank: [F or I][modulo slot] is the stage or -1;
  /// and every W, in the order in which its I has run.
  struct Row {
    PerTask<std::vector<int32_t>> stageAt;
    std::vector<Code> waiting;
  };
  /// Progress of a rank. The W that are still to run are Row::waiting from
  /// `firstWaiting` up to, but not including, `numWaiting`.
  struct State {
    int64_t freeNs = 0, held = 0;
    int32_t firstWaiting = 0, numWaiting = 0;
  };

  int64_t startNs(Task task, int64_t slot) const {
    return slot * lengthNs + (task == Task::F ? 0 : phaseNs);
  }
  static std::vector<Pass> passesOf(const FlatProblem &flat, int32_t place);
  int32_t tightestPlace() const;
  bool isFree(int32_t slot) const;
  void set(Row &row, const std::vector<Pass> &passes, int32_t slot,
           bool isTaken) const;
  bool runsTo(State state, int32_t from, int32_t to);
  static int64_t shortestNs(const FlatProblem &flat);
  template <typename Emit>
  bool runSlot(Row &row, State &state, int64_t cap, int32_t slot,
               bool isPressed, const Emit &emit) const;
  template <typename Emit>
  void runWeightGrad(Row &row, State &state, const Emit &emit) const;

  const FlatProblem &flat;
  int64_t lengthNs = 1, phaseNs = 0;
  /// [place in the order of ranks]: the tasks of that rank.
  std::vector<std::vector<Pass>> passes;
  /// The place of the tightest rank, for which launches are chosen.
  int32_t place = 0;
  /// Number of modulo slots from a launch to the last task of the micro-batch
  /// at `place`.
  int32_t span = 0;
  Row row, scratch;
  std::vector<int32_t> launches;
  /// End of the rank at `place`, W included, after the launches so far, in ns.
  int64_t endNs = 0;
  int64_t steps = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_MODULOSLOTS_H
