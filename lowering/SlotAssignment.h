//===- SlotAssignment.h - Slots for buffers that come and go ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for the memory planner.
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

/// The arenas of all ranks, as far as they are filled. The program gets their
/// pools.
class Arenas {
public:
  Arenas(int32_t numRanks, Program &program)
      : program(program), filled(numRanks, 0) {}

  /// The number of a pool behind what the arena has.
  int32_t addPool(int32_t rank, int64_t slotBytes, int32_t slots);
  /// Lets what comes next begin at `bytes` or later.
  void extend(int32_t rank, int64_t bytes);

  int32_t count() const { return static_cast<int32_t>(filled.size()); }
  int64_t end(int32_t rank) const { return filled[rank]; }
  const std::vector<int64_t> &ends() const { return filled; }
  /// A rank whose arena would be larger than maxArenaBytes; -1: none.
  int32_t overfullRank() const { return overfull; }

private:
  Program &program;
  std::vector<int64_t> filled;
  int32_t overfull = -1;
};

/// What shares slots: the buffers of a size on a rank, apart for what is
/// gathered or reduced, which no message leaves.
struct SlotSize {
  int32_t rank = 0;
  int64_t bytes = 0;
  /// Of weights that are gathered, or gradients that are not yet reduced.
  bool isMoved = false;

  friend bool operator<(const SlotSize &a, const SlotSize &b) {
    return std::tie(a.rank, a.bytes, a.isMoved) <
           std::tie(b.rank, b.bytes, b.isMoved);
  }
};

/// One transient buffer, by its number, of a micro-batch or unit: taken before
/// the action at `first` begins, free again for any action behind `last`.
struct Life {
  int32_t buffer = 0, index = 0;
  int64_t first = 0, last = 0;
};

/// A pool that an executing rank needs, and the buffers that lie in it.
struct NeededPool {
  SlotSize size;
  int32_t slots = 0;
  std::vector<int32_t> buffers;
};

/// More slots than a pool may have.
Fault tooManySlots(int32_t rank, int32_t slots, int64_t bytes);

/// Gives the lives of one executing rank their slots, in pools that all buffers
/// of a size share, with as many slots as are in use at once. A buffer takes,
/// of the free slots that it has had before, the one that it had first;
/// else one that none has had; else the one that has been free longest.
/// Writes the slots of these buffers alone into the program. `sizes` are by
/// buffer; `positions` is the number of the rank's actions.
/// O(lives + positions), where few buffers share a slot.
Result<std::vector<NeededPool>>
assignSlots(std::vector<Life> lives, const std::vector<SlotSize> &sizes,
            int64_t positions, int32_t microbatches, Program &program);

/// The same where iterations overlap, so that slots repeat for any number of
/// them: a buffer has a ring of its own, as long as its lives meet those of
/// other micro-batches. O(lives * log lives).
Result<std::vector<NeededPool>> assignRings(std::vector<Life> lives,
                                            const std::vector<SlotSize> &sizes,
                                            int64_t positions,
                                            Program &program);

} // namespace rondo

#endif // RONDO_LOWERING_SLOTASSIGNMENT_H
