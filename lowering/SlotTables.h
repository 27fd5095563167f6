//===- SlotTables.h - Slots by micro-batch ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_SLOTTABLES_H
#define RONDO_LOWERING_SLOTTABLES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Gives micro-batches that have no buffer here (other replicas take them) the
/// slot of a micro-batch that has one, so the table has no special values.
inline void fillGaps(std::vector<int32_t> &slots) {
  auto first = std::find_if(slots.begin(), slots.end(),
                            [](int32_t slot) { return slot >= 0; });
  if (first == slots.end())
    return;
  int32_t last = *first;
  for (int32_t &slot : slots)
    last = slot = slot < 0 ? last : slot;
}

/// Truncates a table to its shortest period.
inline void shortenToPeriod(std::vector<int32_t> &slots) {
  // Failure function of Knuth, Morris and Pratt: the longest proper border.
  size_t n = slots.size();
  std::vector<size_t> border(n + 1, 0);
  for (size_t i = 1, k = 0; i < n; ++i) {
    while (k > 0 && slots[i] != slots[k])
      k = border[k];
    if (slots[i] == slots[k])
      ++k;
    border[i + 1] = k;
  }
  slots.resize(n - border[n]);
}

} // namespace rondo

#endif // RONDO_LOWERING_SLOTTABLES_H
