//===- SppClock.h - SPP's execution order, by its clock ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Luo et al., "Efficient Pipeline Planning for Expedited Distributed DNN
// Training", INFOCOM 2022, arXiv 2204.10562; no code is known, and the rules
// are Rondo's reconstruction. Family `spp` writes the order, and the planner
// times plans by it.
//
// A micro-batch passes 4S - 3 positions: F of stage 0, its message, F of stage
// 1, ..., F and B of the last stage as one block, the message back, ..., B of
// stage 0. Stages and channels are resources that run one block at a time. A
// free one starts, of the blocks whose position before has ended, that of the
// earliest cycle, micro-batch + position, and of equals the later position, so
// a backward before a forward. What has begun is not interrupted. A message of
// no time is a block as well: a stage that is free as it begins does not wait
// for it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H
#define RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H

#include "schedule/EventClock.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

/// Runs one order after another without allocating.
class SppClock {
public:
  /// What a boundary has: one channel for both directions, or one for each.
  enum class Duplex : uint8_t { Half, Full };
  /// A block that has begun.
  struct Block {
    int32_t position, microbatch;
    int64_t beginNs;
  };

  SppClock(int32_t microbatches, Duplex duplex)
      : microbatches(microbatches), isFullDuplex(duplex == Duplex::Full) {}

  /// Every stage must then be set.
  void setNumStages(int32_t stages);
  /// What a stage takes for one micro-batch, and the boundary behind it there
  /// and back (none behind the last stage), in ns.
  void setStage(int32_t stage, int64_t forwardNs, int64_t backwardNs,
                int64_t sendNs, int64_t sendBackNs);

  /// The stages, then the channels of boundaries, forwards and, where they are
  /// others, backwards.
  int32_t numResources() const {
    return isFullDuplex ? 3 * numStages - 2 : 2 * numStages - 1;
  }
  /// By resource, when it must begin its first block so that the order ends in
  /// time, if it never idles after that; counted up by what it has run. Returns
  /// false once one begins a block later. Appends every block to `blocks`,
  /// unless that is nullptr. O(stages * micro-batches * log(stages)).
  bool run(std::vector<int64_t> &latest, std::vector<Block> *blocks = nullptr);

  /// After run(): when the last B of a stage ends.
  int64_t endNs(int32_t stage) const { return lastBackward[stage]; }

  // Positions.
  int32_t forwardOf(int32_t stage) const { return 2 * stage; }
  /// Of the last stage, its F as well.
  int32_t backwardOf(int32_t stage) const {
    return 4 * (numStages - 1) - 2 * stage;
  }

private:
  struct Step {
    int32_t resource = 0;
    int64_t ns = 0;
    /// Micro-batches that may run it, and those that have begun.
    int32_t ready = 0, begun = 0;
  };
  bool begin(int32_t resource, int64_t now, std::vector<int64_t> &latest,
             std::vector<Block> *blocks);
  void end(int32_t resource, int32_t step, int64_t now);

  const int32_t microbatches;
  const bool isFullDuplex;
  int32_t numStages = 0;
  /// By position.
  std::vector<Step> steps;
  /// By resource: its steps, the second -1 if it has one only.
  std::vector<std::pair<int32_t, int32_t>> stepsOf;
  /// An event is the end of a step.
  EventClock<int32_t> clock;
  /// By stage.
  std::vector<int64_t> lastBackward;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_SPPCLOCK_H
