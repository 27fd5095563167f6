//===- Positions.h - Positions of actions in a rank -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_POSITIONS_H
#define RONDO_LOWERING_POSITIONS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Positions of actions in a rank's order, by subject and micro-batch.
class Positions {
public:
  Positions(size_t names, int32_t microbatches)
      : microbatches(microbatches), rows(names, -1) {}

  void set(int32_t name, int64_t microbatch, int64_t position) {
    int64_t &row = rows[name];
    if (row < 0) {
      row = static_cast<int64_t>(positions.size());
      positions.resize(positions.size() + microbatches, -1);
    }
    positions[row + microbatch] = position;
  }
  /// -1 if the rank has no such action.
  int64_t of(int32_t name, int64_t microbatch) const {
    return rows[name] < 0 ? -1 : positions[rows[name] + microbatch];
  }

private:
  const int32_t microbatches;
  std::vector<int64_t> rows, positions;
};

} // namespace rondo

#endif // RONDO_LOWERING_POSITIONS_H
