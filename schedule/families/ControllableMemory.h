//===- ControllableMemory.h - Repeated blocks in a V ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362:
// a block of one micro-batch is repeated every six slots; its life span
// determines how much is held. The steps are those of the authors' released
// generator without costs: fill W in, reorder, squeeze.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_CONTROLLABLEMEMORY_H
#define RONDO_SCHEDULE_FAMILIES_CONTROLLABLEMEMORY_H

#include "schedule/families/Placement.h"

#include <array>

namespace rondo {

/// [rank]: slots of F0, F1, I1 and I0 of micro-batch 0. A slot takes one task
/// of a chunk. The four differ modulo 6.
using Block = std::vector<std::array<int64_t, 4>>;

/// The order of a V placement that repeats `block`. Two greedy passes move
/// tasks of the ramps into earlier free slots, as long as no rank holds more
/// than the fullest rank did before. O(P M), and O(P) for each of the O(P^2)
/// tasks of the ramps.
Schedule repeatBlock(const Chunks &chunks, int64_t microbatches,
                     const Block &block);

/// Family::extraSteps of repeatBlock(): the steps for the ramps.
int64_t stepsOfRepeatedBlocks(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_CONTROLLABLEMEMORY_H
