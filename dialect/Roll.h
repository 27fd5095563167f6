//===- Roll.h - Sequences to nested loops -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the repeats in a sequence of keyed indices and writes them as loops in
// which every index is affine. Works on values only; Loops.h makes the ops.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_ROLL_H
#define RONDO_DIALECT_ROLL_H

#include <cstdint>
#include <vector>

namespace rondo::pipe {

/// One element: what it does, and to which index.
struct RollLeaf {
  uint64_t key = 0;
  int64_t index = 0;
};

/// A loop or a leaf.
struct RollNode {
  /// The number of runs of the body, at least 2; 0 for a leaf.
  int64_t count = 0;
  std::vector<RollNode> body;

  /// Leaf: its index in the first iteration of all enclosing loops, and by how
  /// much an iteration of each, outermost first, shifts it.
  uint64_t key = 0;
  int64_t index = 0;
  std::vector<int64_t> strides;
};

/// Rolls a sequence into loops. Lossless: running the result gives the sequence
/// again. A loop never takes more lines than what it replaces.
///
/// Bottom-up: blocks of 1, 2, ... nodes that repeat with constant differences
/// become loops, which are nodes again, until nothing repeats. All short block
/// lengths are tried, long ones if enough equal nodes are that far apart; time
/// is about linear if the sequence has short periods, as schedules do.
std::vector<RollNode> roll(const std::vector<RollLeaf> &leaves);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_ROLL_H
