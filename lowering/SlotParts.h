//===- SlotParts.h - Compact slot tables ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_SLOTPARTS_H
#define RONDO_LOWERING_SLOTPARTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Slots that repeat from micro-batch `begin` until the next part begins.
struct SlotPart {
  int64_t begin = 0;
  std::vector<int32_t> repeated;

  bool operator==(const SlotPart &other) const {
    return begin == other.begin && repeated == other.repeated;
  }
};

/// Longest period of a part, unless a part is the whole table.
inline constexpr size_t longestPeriod = 32;

/// Cheapest list of parts that is equivalent to a table of slots; a table
/// shorter than `count` repeats up to micro-batch `count`. A pipeline fills,
/// runs and drains, and its buffers use another pattern of slots in each phase.
/// O(n) in the number of micro-batches.
std::vector<SlotPart> slotParts(const std::vector<int32_t> &slots,
                                int64_t count);

} // namespace rondo

#endif // RONDO_LOWERING_SLOTPARTS_H
