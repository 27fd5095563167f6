//===- SlotAssignment.h - Slots for buffers that come and go ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for the memory planner.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_SLOTASSIGNMENT_H
#define RONDO_LOWERING_SLOTASSIGNMENT_H

#include "schedule/Program.h"

#include <cstdint>
#include <optional>
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

/// One transient buffer: who owns it and for which actions of its rank.
struct Life {
  /// By its number.
  int32_t buffer = 0;
  int64_t microbatch = 0;
  int64_t bytes = 0;
  /// That its pool is on.
  int32_t rank = 0;
  /// Taken before the action at `first` begins, free again for any action
  /// behind `last`.
  int64_t first = 0, last = 0;
  /// Of weights that are gathered, or gradients that are not yet reduced.
  bool isMoved = false;
};

/// More slots than a pool may have.
Fault tooManySlots(int32_t rank, int32_t slots, int64_t bytes);

/// Gives the lives of one executing rank their slots, in pools that all buffers
/// of a size share, with as many slots as are in use at once. A buffer takes,
/// of the free slots that it has had before, the one that it had first;
/// else one that none has had; else the one that has been free longest.
/// Reorders the lives. O(n log n) in their number.
std::optional<Fault> assignSlots(std::vector<Life> &lives, int32_t microbatches,
                                 Arenas &arenas, Program &program);

/// The same where iterations overlap, so that slots repeat for any number of
/// them: a buffer has a ring of its own, as long as its lives meet those of
/// other micro-batches. Reorders them.
std::optional<Fault> assignRings(std::vector<Life> &lives, Arenas &arenas,
                                 Program &program);

} // namespace rondo

#endif // RONDO_LOWERING_SLOTASSIGNMENT_H
