//===- ZbvRounds.h - A V built in rounds by a clock -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plans that zbv-auto tries; ZbvAuto.cpp has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
#define RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H

#include "schedule/families/Placement.h"
#include "schedule/partial/FlatProblem.h"

namespace rondo::zbvRounds {

/// Legs in the order of a micro-batch.
enum Leg : uint8_t { F0, F1, I1, I0, numLegs };
constexpr int32_t chunkOf[numLegs] = {0, 1, 1, 0};
constexpr bool isForward(int leg) { return leg < 2; }
/// From rank to rank + 1.
constexpr bool isDown(int leg) { return leg % 2 == 0; }

/// One entry of a rank's order: a leg, or W of a chunk.
struct Entry {
  uint8_t isWeightGrad : 1, value : 7;
};

/// What does not change between runs.
struct Costs {
  /// With the median stage's times for all stages if `isEven`.
  Costs(const FlatProblem &flat, const Chunks &chunks, bool isEven);

  int32_t ranks, microbatches;
  /// By leg or chunk, then rank. The message is the leg's input.
  std::array<std::vector<int64_t>, numLegs> legNs, messageNs;
  std::array<std::vector<int64_t>, 2> weightGradNs, takes, inputGradFrees,
      weightGradFrees;
};

/// Whether one W may end too late to fill a wait of F, or of I of the second
/// chunk.
struct Switches {
  bool fillsForward, fillsInputGrad;
};

/// The result of a run.
struct Outcome {
  std::vector<std::vector<Entry>> orders;
  std::vector<int64_t> idle;
  int64_t longestIdle = 0, spanNs = 0, makespanNs = 0;
};

/// Keeps `limits`, bytes by rank, each of which holds a micro-batch. `allowed`
/// is the idle time by rank that is taken as given. Nothing if a rank gets
/// stuck. O(tasks + P^2).
std::optional<Outcome> layOut(const Costs &costs,
                              const std::vector<int64_t> &limits,
                              Switches switches,
                              const std::vector<int64_t> &allowed);

} // namespace rondo::zbvRounds

#endif // RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
