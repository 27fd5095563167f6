//===- SppClock.h - SPP's execution order, by its clock ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Luo et al., "Efficient Pipeline Planning for Expedited Distributed DNN
// Training", INFOCOM 2022, arXiv 2204.10562. No code is published; the rules
// are Rondo's reconstruction. Family `spp` writes the order, and the planner
// uses it to time plans.
//
// A micro-batch passes 4S - 3 positions: F of stage 0, its message, F of stage
// 1, ..., F and B of the last stage as one block, the message back, ..., B of
// stage 0. Stages and channels are resources that run one block at a time,
// without interruption. A free resource considers the blocks whose previous
// position has ended. It starts the one of the earliest cycle,
// micro-batch + position; of equal ones that of the later position, so a
// backward goes before a forward. A message of duration 0 is a block as well: a
// stage that is free when it begins does not wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H
#define RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H

#include "schedule/simulate/EventClock.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

/// Can run many orders without allocating.
class SppClock {
public:
  /// Whether a boundary has one channel for both directions, or one for each.
  enum class Duplex : uint8_t { Half, Full };
  /// A block that has begun.
  struct Block {
    int32_t position, microbatch;
    int64_t beginNs;
  };

  SppClock(int32_t microbatches, Duplex duplex)
      : microbatches(microbatches), isFullDuplex(duplex == Duplex::Full) {}

  /// Afterwards, set every stage.
  void setNumStages(int32_t stages);
  /// Times in ns, for one micro-batch, of a stage and of the messages forwards
  /// and backwards over the boundary after it (unused for the last stage).
  void setStage(int32_t stage, int64_t forwardNs, int64_t backwardNs,
                int64_t sendNs, int64_t sendBackNs);

  /// Number of stages and channels. Resources are numbered: stages, channels,
  /// then backward channels if they are separate.
  int32_t numResources() const {
    return isFullDuplex ? 3 * numStages - 2 : 2 * numStages - 1;
  }
  /// `latest[resource]` is the time by which it must begin its first block so
  /// that the order ends in time if it never idles afterwards; run() adds the
  /// time of each block that it runs. Returns false as soon as a block begins
  /// later. Appends every block to `blocks`, unless that is nullptr.
  /// O(stages * micro-batches * log(stages)).
  bool run(std::vector<int64_t> &latest, std::vector<Block> *blocks = nullptr);

  /// End of the last B of a stage, after run().
  int64_t endNs(int32_t stage) const { return lastBackward[stage]; }

  // Positions of the tasks of a stage.
  int32_t forwardOf(int32_t stage) const { return 2 * stage; }
  /// For the last stage, also the position of F.
  int32_t backwardOf(int32_t stage) const {
    return 4 * (numStages - 1) - 2 * stage;
  }

private:
  struct Step {
    int32_t resource = 0;
    int64_t ns = 0;
    /// Number of micro-batches that may run it, and of those that have begun.
    int32_t ready = 0, begun = 0;
  };
  bool begin(int32_t resource, int64_t now, std::vector<int64_t> &latest,
             std::vector<Block> *blocks);
  void end(int32_t resource, int32_t step, int64_t now);

  const int32_t microbatches;
  const bool isFullDuplex;
  int32_t numStages = 0;
  /// Indexed by position.
  std::vector<Step> steps;
  /// [resource]: its steps; the second is -1 if it has only one.
  std::vector<std::pair<int32_t, int32_t>> stepsOf;
  /// An event is the end of a step.
  EventClock<int32_t> clock;
  /// Indexed by stage.
  std::vector<int64_t> lastBackward;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H
