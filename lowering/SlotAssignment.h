//===- SlotAssignment.h - Slots of transient buffers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used only by the memory planner.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_SLOTASSIGNMENT_H
#define RONDO_LOWERING_SLOTASSIGNMENT_H

#include "schedule/program/Program.h"

#include <cstdint>
#include <tuple>
#include <vector>

namespace rondo {

inline constexpr int64_t maxArenaBytes = int64_t(1) << 50;

/// The arenas of all ranks while they are filled. Their pools are added to the
/// program.
class Arenas {
public:
  Arenas(int32_t numRanks, Program &program)
      : program(program), filled(numRanks, 0), filledOnHost(numRanks, 0) {}

  /// Appends a pool to the arena of a rank and returns its number.
  int32_t addPool(int32_t rank, int64_t slotBytes, int32_t slots);
  /// The same for the rank's arena on its host.
  int32_t addHostPool(int32_t rank, int64_t slotBytes, int32_t slots);
  /// Moves the start of the next pool to `bytes` or later.
  void extend(int32_t rank, int64_t bytes);

  int32_t count() const { return static_cast<int32_t>(filled.size()); }
  int64_t end(int32_t rank) const { return filled[rank]; }
  const std::vector<int64_t> &ends() const { return filled; }
  const std::vector<int64_t> &hostEnds() const { return filledOnHost; }
  /// A rank whose arena would be larger than maxArenaBytes; -1: none.
  int32_t overfullRank() const { return overfull; }

private:
  int32_t addPool(Pool pool, std::vector<int64_t> &ends);

  Program &program;
  std::vector<int64_t> filled, filledOnHost;
  int32_t overfull = -1;
};

/// Buffers that may share a pool.
enum class PoolUse : uint8_t {
  /// Activations, gradients and messages.
  Any,
  /// Gathered weights and unreduced gradients, because no message sends from
  /// them.
  Moved,
  /// Buffers on the device that copies read or write, because lanes wait for
  /// each other there.
  Copied,
  /// Buffers in host memory.
  OnHost,
};

/// Key of a pool: buffers of the same size and use on the same rank share
/// slots.
struct SlotSize {
  int32_t rank = 0;
  int64_t bytes = 0;
  PoolUse use = PoolUse::Any;

  friend bool operator<(const SlotSize &a, const SlotSize &b) {
    return std::tie(a.rank, a.bytes, a.use) < std::tie(b.rank, b.bytes, b.use);
  }
};

/// The life of one transient buffer of a micro-batch or unit: taken before the
/// action at `first` begins, free for the actions after `last`.
struct Life {
  int32_t buffer = 0, index = 0;
  int64_t first = 0, last = 0;
};

/// A pool that an executing rank needs, and its buffers.
struct NeededPool {
  SlotSize size;
  int32_t slots = 0;
  std::vector<int32_t> buffers;
};

/// The fault of a pool that needs more than maxSlots slots.
Fault tooManySlots(int32_t rank, int32_t slots, int64_t bytes);

/// Assigns slots to the lives of one executing rank. All buffers of a SlotSize
/// share a pool, which has as many slots as are in use at once. A buffer takes
/// the least recently used of the free slots that it has had; else a slot that
/// nobody has had; else the slot that has been free longest. Writes only the
/// slots of these buffers into the program. `sizes` is indexed by buffer;
/// `positions` is the number of the rank's actions. O(lives + positions) if few
/// buffers share a slot.
Result<std::vector<NeededPool>>
assignSlots(std::vector<Life> lives, const std::vector<SlotSize> &sizes,
            int64_t positions, int32_t microbatches, Program &program);

/// assignSlots() for overlapping iterations: the slots repeat for any number of
/// them. Each buffer has a ring of its own, long enough that lives of different
/// micro-batches do not collide. O(lives * log lives).
Result<std::vector<NeededPool>> assignRings(std::vector<Life> lives,
                                            const std::vector<SlotSize> &sizes,
                                            int64_t positions,
                                            Program &program);

} // namespace rondo

#endif // RONDO_LOWERING_SLOTASSIGNMENT_H
