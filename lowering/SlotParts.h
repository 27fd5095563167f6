//===- SlotParts.h - Slots by micro-batch, in a short form ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_SLOTPARTS_H
#define RONDO_LOWERING_SLOTPARTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Slots that repeat from micro-batch `begin` on, until the next part begins.
struct SlotPart {
  int64_t begin = 0;
  std::vector<int32_t> repeated;

  bool operator==(const SlotPart &other) const {
    return begin == other.begin && repeated == other.repeated;
  }
};

/// No part has a longer period, unless it is the whole table.
inline constexpr size_t longestPeriod = 32;

/// Parts that stand for a table of slots, which repeats up to micro-batch
/// `count` if it is shorter: those that take least to write. A pipeline fills,
/// runs and drains, and in each of these its buffers take slots in another
/// pattern. O(n) in the number of micro-batches.
std::vector<SlotPart> slotParts(const std::vector<int32_t> &slots,
                                int64_t count);

} // namespace rondo

#endif // RONDO_LOWERING_SLOTPARTS_H
