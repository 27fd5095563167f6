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

/// The slots of F0, F1, I1 and I0 of micro-batch 0 on each rank; a slot is one
/// task of a chunk. Different modulo 6 on every rank.
using Block = std::vector<std::array<int64_t, 4>>;

/// The order of a V placement that repeats `block`. Two greedy passes move
/// tasks of the ramps into earlier free slots if no rank comes to hold more
/// than the worst one did. O(P M), and O(P) for each of the O(P^2) tasks of the
/// ramps.
Schedule repeatBlock(const Chunks &chunks, int64_t microbatches,
                     const Block &block);

/// The cost of the ramps, for the table.
int64_t stepsOfRepeatedBlocks(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_CONTROLLABLEMEMORY_H
