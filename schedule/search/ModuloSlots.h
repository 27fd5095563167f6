//===- ModuloSlots.h - Waves that never meet --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where micro-batches pass all ranks in one order, once or several times, the F
// of a micro-batch are a wave down the ranks and its I a wave back up. Time is
// cut into modulo slots, each with room for one F and then one I on every rank.
// The two waves move at such a pace that a step down and a step back up take
// one modulo slot together. Then what follows from the modulo slot at which a
// micro-batch is launched is a modulo slot for each of its tasks, and
// micro-batches that do not meet on one rank meet on none. So an order of all
// ranks follows from the modulo slots of the launches; W runs where there is
// room.
//
// That reaches the rate to which memory limits a pipeline: without modulo
// slots, waves meet, one of them waits, and whoever waits holds its memory
// longer.
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
  /// several times; times are not so long that sums of modulo slots overflow.
  static bool fit(const FlatProblem &flat);

  /// The length of a modulo slot is the shortest times `neighbourhood`; fit()
  /// holds.
  ModuloSlots(const FlatProblem &flat, double factor);

  int64_t slotNs() const { return lengthNs; }

  /// Launches every micro-batch at the first modulo slot, so many behind the
  /// launch before it, at which the tightest rank has room and memory for all
  /// its tasks. Returns when that rank ends, if waves move on modulo slots;
  /// `never` if a micro-batch does not fit. O(modulo slots * stages).
  int64_t launch(const std::vector<int32_t> &delays);
  /// What the last call of launch() has cost, in tasks placed or timed.
  int64_t cost() const { return 1 + steps / 8; }

  /// The orders of the last launches. False if some rank cannot keep its cap.
  /// O(tasks + ranks * modulo slots).
  bool toOrders(Orders &orders);

private:
  /// A task of every micro-batch, so many modulo slots after its launch.
  struct Pass {
    int letter;
    int32_t stage, slot;
  };
  /// What a rank runs: by F or I and by modulo slot, the stage or -1; and every
  /// W, in the order in which its I has run.
  struct Row {
    std::array<std::vector<int32_t>, 2> stageAt;
    std::vector<Code> waiting;
  };
  /// How far a rank is. Of Row::waiting, those from the first to the number of
  /// them are still to run.
  struct State {
    int64_t freeNs = 0, held = 0;
    int32_t firstWaiting = 0, numWaiting = 0;
  };

  int64_t startNs(int letter, int64_t slot) const {
    return slot * lengthNs + (letter == 0 ? 0 : phaseNs);
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
  /// By place in the order of ranks.
  std::vector<std::vector<Pass>> passes;
  /// The one that launches are made for.
  int32_t place = 0;
  /// The modulo slots that a micro-batch takes there.
  int32_t span = 0;
  Row row, scratch;
  std::vector<int32_t> launches;
  /// When it ends, W included, after the launches so far.
  int64_t endNs = 0;
  int64_t steps = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_MODULOSLOTS_H
