//===- Period.h - Tables that repeat ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_PERIOD_H
#define RONDO_LOWERING_PERIOD_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Cuts a table to the shortest period that writes it.
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

#endif // RONDO_LOWERING_PERIOD_H
