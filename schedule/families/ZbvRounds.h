//===- ZbvRounds.h - Greedy layout of zbv-auto ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of zbv-auto; ZbvAuto.cpp has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
#define RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H

#include "schedule/families/Placement.h"
#include "schedule/partial/FlatProblem.h"

namespace rondo::zbvRounds {

/// The legs of a micro-batch, in order.
enum Leg : uint8_t { F0, F1, I1, I0, numLegs };
constexpr int32_t chunkOf[numLegs] = {0, 1, 1, 0};
constexpr bool isForward(int leg) { return leg < 2; }
/// Whether the leg goes from rank to rank + 1.
constexpr bool isDown(int leg) { return leg % 2 == 0; }

/// One entry of a rank's order: a leg, or W of a chunk.
struct Entry {
  uint8_t isWeightGrad : 1, value : 7;
};

/// Costs that are the same in all runs.
struct Costs {
  /// `isEven`: all stages get the median stage's times.
  Costs(const FlatProblem &flat, const Chunks &chunks, bool isEven);

  int32_t ranks, microbatches;
  /// [leg or chunk][rank], in ns or bytes. The message is the leg's input.
  std::array<std::vector<int64_t>, numLegs> legNs, messageNs;
  std::array<std::vector<int64_t>, 2> weightGradNs, takes, inputGradFrees,
      weightGradFrees;
};

/// Whether one W that ends too late may fill a wait of F, and of I of the
/// second chunk.
struct Switches {
  bool fillsForward, fillsInputGrad;
};

/// The result of a run.
struct Outcome {
  std::vector<std::vector<Entry>> orders;
  std::vector<int64_t> idle;
  int64_t longestIdle = 0, spanNs = 0, makespanNs = 0;
};

/// Lays out the orders within `limits`, bytes by rank, each of which must hold
/// a micro-batch. `allowed` is the idle time of each rank, in ns, that is
/// accepted without filling it. nullopt if a rank gets stuck. O(tasks + P^2).
std::optional<Outcome> layOut(const Costs &costs,
                              const std::vector<int64_t> &limits,
                              Switches switches,
                              const std::vector<int64_t> &allowed);

} // namespace rondo::zbvRounds

#endif // RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
