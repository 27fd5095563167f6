//===- ShardedBound.h - Least times of gathers ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of problems with sharded stages. Those of Bounds.h assume whole
// state.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_SHARDEDBOUND_H
#define RONDO_SCHEDULE_BOUNDS_SHARDEDBOUND_H

#include "schedule/bounds/Bounds.h"

#include <vector>

namespace rondo {

/// The least gathers and reductions of a rank in an iteration, for any order
/// that keeps its cap. Each chunk is gathered before its first task, and its
/// gradients are reduced after its last. While the rank's last chunk runs F of
/// a micro-batch, the activations of all its chunks are held for that
/// micro-batch. A chunk whose gathered state does not fit then has been used
/// before, and is gathered again for its backward.
struct LeastMoves {
  int64_t gathers = 0, reductions = 0;
  /// Their time on the rank's collective lane, one after another.
  int64_t ns = 0;
};
/// Indexed by rank. O(replicas^2).
std::vector<LeastMoves> leastMoves(const Problem &problem);

/// The same problem with whole state: a relaxation, which allows all orders
/// that sharded state allows. While a task runs, its chunk is gathered, so if
/// all chunks of a rank are sharded, its cap is lowered by the smallest of
/// them.
Problem withWholeStateAtMost(const Problem &problem);

/// The best of Bounds.h for withWholeStateAtMost(), and of
///  - G1: a rank's gathers and reductions, one after another (not of spans);
///  - G2: a rank's work after the shortest path to it with gathers, and the
///    reduction after its last backward;
///  - G3: the path of a micro-batch down and up, with gathers, its W and the
///    reduction after it (not of spans).
/// O(tasks).
Bound shardedBound(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_SHARDEDBOUND_H
