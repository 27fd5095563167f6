//===- RaggedPlacement.h - Places of buffers of many sizes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used only by the memory planner.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_RAGGEDPLACEMENT_H
#define RONDO_LOWERING_RAGGEDPLACEMENT_H

#include "lowering/SlotAssignment.h"

#include <functional>

namespace rondo {

/// A buffer that takes `size` units of memory from before the action at `first`
/// until after the action at `last`.
struct RaggedLife {
  int64_t size = 0, first = 0, last = 0;
};

struct RaggedPlacement {
  /// Indexed by life.
  std::vector<int64_t> offsets;
  /// The end of the last buffer.
  int64_t size = 0;
};

/// First fit decreasing: from the largest to the smallest, each buffer gets the
/// lowest offset at which it overlaps no buffer that lives at the same time.
/// Among equal sizes, the first one to live comes first, then the order of the
/// list. `size` is at most the sum of all sizes. `areAtOnce` says which pairs
/// of lives must not overlap; without it, those whose positions do. O(lives^2 *
/// log lives).
RaggedPlacement
placeRagged(const std::vector<RaggedLife> &lives,
            const std::function<bool(size_t, size_t)> &areAtOnce = nullptr);

/// Slots of a ragged pool: a power of two times bufferAlignment bytes each, so
/// large that the pool has at most this many.
inline constexpr int64_t maxRaggedSlots = 1 << 14;

/// assignSlots() for micro-batches that differ: the buffers of one PoolUse that
/// one executing rank has on each rank's arena share a pool, in which each
/// takes as many slots as it needs. `bytesOf(life)` is the size of its buffer;
/// `areAtOnce` is that of placeRagged(). Returns a fault if more than
/// maxRaggedSlots buffers live at once.
Result<std::vector<NeededPool>> assignRagged(
    const std::vector<Life> &lives, const std::vector<SlotSize> &sizes,
    const std::function<int64_t(const Life &)> &bytesOf, int32_t microbatches,
    Program &program,
    const std::function<bool(const Life &, const Life &)> &areAtOnce = nullptr);

} // namespace rondo

#endif // RONDO_LOWERING_RAGGEDPLACEMENT_H
