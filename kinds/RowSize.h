//===- RowSize.h - Size of a row of documents -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_KINDS_ROWSIZE_H
#define RONDO_KINDS_ROWSIZE_H

#include "kinds/AffineCost.h"

#include <algorithm>

namespace rondo {

/// The size of a row, from which its times and bytes follow.
struct RowSize {
  int64_t tokens = 0;
  /// Sum of the squared lengths of its documents: the work of attention.
  int64_t pairs = 0;

  constexpr int64_t of(const AffineCost &cost) const {
    return cost.at(tokens, pairs);
  }
};

/// Sums that exceed 64 bits are limited to the largest number.
template <typename Lengths> constexpr RowSize rowSize(const Lengths &lengths) {
  __extension__ using Wide = __int128;
  constexpr Wide most = INT64_MAX;
  RowSize size;
  for (const int64_t length : lengths) {
    size.tokens =
        static_cast<int64_t>(std::min(most, Wide(size.tokens) + length));
    size.pairs = static_cast<int64_t>(
        std::min(most, size.pairs + Wide(length) * length));
  }
  return size;
}

} // namespace rondo

#endif // RONDO_KINDS_ROWSIZE_H
