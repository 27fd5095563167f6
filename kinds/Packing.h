//===- Packing.h - Documents to rows of tokens ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule by which a batch of documents becomes the rows of its micro-batches.
// Used by compiler and runtime.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_PACKING_H
#define RONDO_KINDS_PACKING_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace rondo {

struct Packing {
  /// [row]: documents, in the order in which they were put there.
  std::vector<std::vector<int64_t>> rows;
  /// The first documents, which are packed; later ones are not.
  int64_t packed = 0;
};

/// Packs documents by their lengths. From the longest to the shortest, each
/// goes to the row with the fewest tokens; among equals the first document and
/// the first row (longest processing time first: Graham, Bounds on
/// multiprocessing timing anomalies, 1969). While a row has more than
/// `rowTokens` and there are more documents than rows, the last document is
/// left out.
inline Packing packLongestFirst(const std::vector<int64_t> &lengths,
                                int64_t rows, int64_t rowTokens) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[a] > lengths[b];
  });
  for (auto packed = static_cast<int64_t>(lengths.size());; --packed) {
    Packing packing = {std::vector<std::vector<int64_t>>(rows), packed};
    std::vector<int64_t> tokens(rows, 0);
    for (int64_t document : order) {
      if (document >= packed)
        continue;
      const auto row = std::min_element(tokens.begin(), tokens.end());
      *row += lengths[document];
      packing.rows[row - tokens.begin()].push_back(document);
    }
    if (packed <= rows ||
        *std::max_element(tokens.begin(), tokens.end()) <= rowTokens)
      return packing;
  }
}

} // namespace rondo

#endif // RONDO_KINDS_PACKING_H
